// Why a recorded call cannot be asked again, and what would open a model for it.
import { expect, it } from "vitest";
import type { StudioApi } from "../../gateway/studio/client/api.ts";
import { forkObstacle } from "../../gateway/studio/client/fork_panel.tsx";
import { textsOf } from "../../gateway/studio/client/texts.ts";
import pageEnglish from "../../src/app/page/texts.en.json" with { type: "json" };
import pageKorean from "../../src/app/page/texts.ko.json" with { type: "json" };
import type { StudioCall, StudioRun } from "../../src/schema/studio_api.ts";

const live = { isLive: true } as StudioApi;
const report = { isLive: false } as StudioApi;
const own = { own: true } as StudioCall;
const foreign = { own: false } as StudioCall;
const runWith = (fork: boolean, start: boolean): StudioRun =>
  ({ can: { control: start, start, fork, report: false } }) as StudioRun;

it.each([
  ["a run whose model is open", live, runWith(true, true), own, null],
  ["another model's call", live, runWith(true, true), foreign, "fork.foreign"],
  ["a tab whose model is closed, as after a reload", live, runWith(false, true), own, "fork.closed"],
  ["a record that is only looked at", live, runWith(false, false), own, "fork.record"],
  ["a report", report, runWith(false, false), own, "fork.report"],
] as const)("%s", (_, api, run, call, obstacle) => {
  expect(forkObstacle(api, run, call)).toBe(obstacle);
});

it("is said with what to do about it", () => {
  const [english, korean] = [textsOf("en"), textsOf("ko")];
  expect(english("fork.closed")).toContain(`“${pageEnglish["run.resume"]}” on the page ${pageEnglish["nav.run"]}`);
  expect(korean("fork.closed")).toContain(`${pageKorean["nav.run"]} 페이지의 “${pageKorean["run.resume"]}”`);
  for (const say of [english, korean]) {
    expect(say("fork.record")).toContain("leyden serve --model RUN/checkpoints/step_N --store RUN/store.sqlite");
    expect(say("fork.foreign", { endpoint: "gpt" })).toContain("gpt");
  }
});
