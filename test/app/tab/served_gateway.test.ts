// What is served of a tab's runs: whichever is shown, opened or closed, every question is answered.
import { describe, expect, it } from "vitest";
import { ServedGateway } from "../../../src/app/tab/served_gateway.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { StudioChanges, StudioRun } from "../../../src/schema/studio_api.ts";
import { FakeTab } from "./fake_tab.ts";

const calc = { experiment: "calc", overrides: { "train.updates": 2 } };
const record = { format: 1 as const, experiment: "calc", overrides: {}, reward: "", isRunning: false };

/** The answer to a question of the studio, which must be no refusal. */
async function answer<T>(asked: Promise<Response>): Promise<T> {
  const response = await asked;
  expect([response.status, response.ok ? "" : await response.clone().text()]).toEqual([200, ""]);
  return (await response.json()) as T;
}

/** A tab that shows a run of calc after three updates, with its records. */
async function withRecords(): Promise<FakeTab> {
  const tab = new FakeTab();
  tab.hasRecords = true;
  const { control } = await tab.open();
  await control.adopt(record, () => tab.putRun("calc", 3));
  return tab;
}

describe("the studio's questions while a run opens over one that is shown", () => {
  it("tell the opening, those that waited for news too, and stop it", async () => {
    const tab = await withRecords();
    const shown = await answer<StudioRun>(tab.ask("run"));
    expect([shown.status?.phase, shown.status?.update]).toEqual(["stopped", 3]);
    const waited = tab.ask("changes?after=0&wait_seconds=20");
    const open = tab.holdOpening();
    const started = tab.ask("control", { action: "start", ...calc });
    await tab.until("opening");
    expect((await answer<StudioChanges>(waited)).rollouts).toEqual([]);
    expect((await answer<StudioChanges>(tab.ask("changes?after=-1"))).status?.phase).toBe("opening");
    expect((await answer<StudioRun>(tab.ask("run"))).status).toMatchObject({ phase: "opening", updates: 2 });
    await answer(tab.ask("rollouts"));
    expect(await answer(tab.ask("metrics?after=-1"))).toEqual({ lines: [] });
    const stopped = tab.ask("control", { action: "stop" });
    await tab.until("stopping");
    open();
    await answer(stopped);
    await started;
    expect((await answer<StudioRun>(tab.ask("run"))).status).toMatchObject({ phase: "stopped", update: 3 });
  });

  it("are answered from one run to the next, after a reload and while another is brought in", async () => {
    const tab = await withRecords();
    const { control } = await tab.open();
    let isOver = false;
    const statuses: number[] = [];
    const asking = (async () => {
      while (!isOver)
        for (const path of ["changes?after=0", "rollouts", "run"]) statuses.push((await tab.ask(path)).status);
    })();
    try {
      await control.start({ ...calc, resume: true });
      await control.stop();
      await control.start({ ...calc, paused: true });
      await control.stop();
      await control.adopt(record, () => tab.putRun("calc", 3));
    } finally {
      isOver = true;
    }
    await asking;
    // Between two runs none may be served; that the records are closed is never told.
    expect(new Set(statuses)).toEqual(new Set([200, 404]));
  });
});

describe("a gateway that is in use no more", () => {
  it("answers what it was asked before what it reads may be closed, but for what steers runs", async () => {
    const served = new ServedGateway(systemClock);
    expect((await served.fetch(new Request("https://gateway.invalid/"))).status).toBe(503);
    const answers = new Map<string, PromiseWithResolvers<Response>>();
    const asked = (request: Request): Promise<Response> => {
      const answered = Promise.withResolvers<Response>();
      answers.set(new URL(request.url).pathname, answered);
      return answered.promise;
    };
    const drained: number[] = [];
    const drain = async (limitMs: number): Promise<boolean> => {
      drained.push(limitMs);
      return true;
    };
    await served.use({ fetch: asked, drain });
    const read = served.fetch(new Request("https://gateway.invalid/studio/api/rollouts"));
    void served.fetch(new Request("https://gateway.invalid/studio/api/control"));
    let isLeft = false;
    const left = served.use({ fetch: () => new Response("next"), drain }).then(() => {
      isLeft = true;
    });
    expect(await (await served.fetch(new Request("https://gateway.invalid/"))).text()).toBe("next");
    await new Promise((resolve) => setTimeout(resolve));
    expect([isLeft, drained]).toEqual([false, [10_000]]);
    answers.get("/studio/api/rollouts")?.resolve(new Response("last"));
    expect(await (await read).text()).toBe("last");
    await left;
    expect(isLeft).toBe(true);
  });
});
