// Plan: every harness is whole data: names, places filled, tool calls that are JSON wherever it runs.
import { describe, expect, it } from "vitest";
import { type HarnessPlace, placeHarness } from "../../src/rollout/harnesses/place.ts";
import { harnesses } from "../../src/rollout/harnesses/registry.ts";

const place: HarnessPlace = {
  prompt: "Say {key}.",
  workspace: 'C:\\work "space"',
  home: "/tmp/home",
  openaiUrl: "http://gateway/r/t/0/train/v1",
  nativeUrl: "http://gateway/r/t/0/train",
  key: "lrk-1",
  model: "policy",
};
const placeholder = /\{(prompt|workspace|home|openai_url|native_url|key|model)\}/;

describe("harnesses", () => {
  it("have names and programs of their own", () => {
    for (const field of ["name", "program", "package"] as const) {
      expect(new Set(harnesses.map((harness) => harness[field])).size).toBe(harnesses.length);
    }
  });

  it.each(harnesses.map((harness) => [harness.name, harness] as const))("%s fits its place", (_, harness) => {
    const { args, env, files, trial } = placeHarness(harness, place);
    expect(args).toContain("Say {key}.");
    const texts = [...args.filter((arg) => arg !== "Say {key}."), ...Object.values(env), ...Object.values(files)];
    for (const text of texts) expect(text).not.toMatch(placeholder);
    const given = [...texts, ...args].join("\n");
    expect(given).toContain("lrk-1");
    expect(given).toMatch(/http:\/\/gateway\/r\/t\/0\/train/);
    for (const [path, text] of Object.entries(files)) if (path.endsWith(".json")) JSON.parse(text);
    const turns = trial.filter(({ when }) => when === undefined);
    expect(turns.map(({ calls }) => calls?.length ?? 0)).toEqual([1, 1, 0]);
    const calls = trial.flatMap(({ calls }) => calls ?? []);
    const commands = calls.map((call) => JSON.stringify(JSON.parse(call.arguments ?? "")));
    expect(commands[0]).toContain("echo hi");
    expect(commands[1]).toContain(JSON.stringify(`${place.workspace}/README.md`).slice(1, -1));
    expect(trial.filter(({ when }) => when !== undefined)).toHaveLength(harness.sideCalls);
  });
});
