/**
 * Coding agents that people install, real and unmodified, without a screen, against the scripted policy: a shell
 * command, a file, and an answer each, by the entries that `leyden try` runs. Each ends with 0, acted on what was
 * sampled, and continued the recorded tokens verbatim.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layOutHarness, trialScript } from "../../src/app/trial/trial_agent.ts";
import { platform } from "../../src/platform/node.ts";
import { trialAnswer, trialReadme } from "../../src/rollout/harnesses/harness.ts";
import { harnesses } from "../../src/rollout/harnesses/registry.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import { HarnessRig, harnessFolder, type RigRun, wanted } from "./rig.ts";

let rig: HarnessRig;
beforeAll(async () => {
  rig = await HarnessRig.open();
}, 120_000);
afterAll(() => rig?.close());

const dialects: Readonly<Record<string, string>> = {
  "claude-code": "messages",
  codex: "responses",
  "gemini-cli": "gemini",
};

/** What a call's prompt holds beyond the call it continues, as text. */
function news({ tokens, prefixLength }: CallRecord): string {
  return rig.codec.tokenizer.decode(tokens.promptIds.subarray(prefixLength), { continuation: true });
}

/** Records of the task itself: side calls, such as for a title, are no turns of it. */
function turns({ records }: RigRun, isSide: (reply: unknown) => boolean): CallRecord[] {
  return records.filter((record) => !isSide(rig.said(record).sampled));
}

describe("coding agents", () => {
  it.each(harnesses.map((harness) => [harness.name, harness] as const))("%s", async (name, harness) => {
    const script = trialScript(platform.files, harness, join(rig.folder, name));
    const program = join(harnessFolder, "node_modules/.bin", harness.program);
    const run = await rig.run(name, script, (access, folder) =>
      layOutHarness(platform.files, harness, { folder, access, program }),
    );
    expect({ code: run.end.exit?.code, stderr: run.end.exit?.code === 0 ? "" : run.stderr }).toEqual({
      code: 0,
      stderr: "",
    });
    expect(run.stdout).toContain(trialAnswer.text);

    const sides = script.filter(({ when }) => when !== undefined).map((reply) => wanted(reply).sampled);
    const main = script.filter(({ when }) => when === undefined);
    const task = turns(run, (reply) => sides.some((side) => JSON.stringify(side) === JSON.stringify(reply)));
    expect(task.map((record) => rig.said(record))).toEqual(main.map(wanted));
    // The agent ran the command and read the file: their results are the next turns' news.
    expect(news(task[1] as CallRecord)).toMatch(/\bhi\b/);
    expect(news(task[2] as CallRecord)).toContain(trialReadme.trim());

    expect(run.calls).toBe(script.length);
    expect(run.lineages).toBe(1 + harness.sideCalls);
    // A side call beside the first turn may be the attempt's first call itself, which breaks nothing.
    expect(sides.map(() => "side")).toEqual(expect.arrayContaining([...run.breaks]));
    expect(run.breaks.length).toBeLessThanOrEqual(sides.length);
    expect(run.continuations).toBe(main.length - 1);
    expect(run.failures).toEqual([]);
    expect(run.trainable).toBe(true);
    for (const record of run.records) {
      expect([record.dialect, record.delivery]).toEqual([dialects[name] ?? "chat_completions", "delivered"]);
    }
  });
});
