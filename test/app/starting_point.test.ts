// Where a resumed run starts: by the experiment's own configuration, which is compared with the recorded one and never
// kept from it by what is refused today; clip ranges that a run recorded as numbers stay the run's.
import { describe, expect, it } from "vitest";
import type { StartingPoint } from "../../src/app/run_request.ts";
import { startingPoint, withKeptSeed } from "../../src/app/starting_point.ts";
import { parseConfig, readRunConfig } from "../../src/experiment/config.ts";
import { freshRunState, RunFolder } from "../../src/experiment/run_folder.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { Files } from "../../src/schema/files.ts";

const agents = { model: { path: "m" }, task: { dataset: "d" }, rollout: { command: ["c"] } };
const completions = { ...agents, rollout: { completion: "c.ts" } };

/** The files of a run with one checkpoint, whose configuration was recorded as given. */
async function runWith(recorded: unknown): Promise<Files> {
  const files = memoryFiles();
  await files.write("/run/config.json", JSON.stringify(recorded));
  const state = { ...freshRunState, update: 3, version: 3, configSha256: "of that time" };
  await new RunFolder(files, "/run").writeCheckpoint(state, { "model.safetensors": new Uint8Array(1) });
  return files;
}

/** Resumes a run by an experiment; with what was said. */
async function resumed(files: Files, experiment: unknown): Promise<{ point: StartingPoint; said: string[] }> {
  const said: string[] = [];
  const request = {
    ...{ config: parseConfig(experiment), configFolder: "/", runFolder: "/run", resume: true },
    say: (line: string) => void said.push(line),
  };
  return { point: await startingPoint(new RunFolder(files, "/run"), request, files), said };
}

describe("a resumed run", () => {
  it.each([
    ["a mode that completions do not have", { schedule: { mode: "collocated" } }, {}],
    ["hooks that nothing calls", {}, { hooks: "h.ts" }],
    ["a grader that judges nothing", {}, { grader: "regex" }],
  ])("reads what was recorded with %s, and goes on by the experiment", async (_, part, rollout) => {
    const recorded = { ...completions, ...part, rollout: { ...completions.rollout, ...rollout } };
    expect(() => parseConfig(recorded)).toThrow("with rollout.completion");
    const files = await runWith(recorded);
    expect((await readRunConfig(files, "/run"))?.rollout.completion).toBe("c.ts");
    const { point, said } = await resumed(files, completions);
    expect(point).toMatchObject({ modelFolder: "/run/checkpoints/step_3", state: { update: 3 } });
    expect(point.config).toEqual(parseConfig(completions));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain("The configuration differs from the one the run began with: ");
  });

  it("says of a recorded configuration what is no configuration at all", async () => {
    const files = await runWith({ ...agents, train: { updates: -1 } });
    await expect(resumed(files, agents)).rejects.toMatchObject({ code: "run_config" });
  });

  it("is no other where a loss's own clip range was recorded as numbers", async () => {
    for (const loss of ["ppo", "cispo"]) {
      const files = await runWith({ ...agents, train: { loss, clipLow: 0.2, clipHigh: 0.28 } });
      const { point, said } = await resumed(files, { ...agents, train: { loss } });
      expect(said, loss).toEqual([]);
      expect(point.config.train).toMatchObject({ clipLow: 0.2, clipHigh: 0.28 });
    }
  });

  it("keeps the numbers it began with where its loss's own are others, and says so", async () => {
    const files = await runWith({ ...agents, train: { loss: "gspo", clipLow: 0.2, clipHigh: 0.28 } });
    const { point, said } = await resumed(files, { ...agents, train: { loss: "gspo", updates: 20 } });
    expect(point.config.train).toMatchObject({ clipLow: 0.2, clipHigh: 0.28, updates: 20 });
    expect(said).toEqual([
      "The run keeps train.clipLow 0.2 and train.clipHigh 0.28, with which it began; gspo's own are 0.0003 and 0.0004: give these to change over.",
      "The configuration differs from the one the run began with: train.updates 10 -> 20.",
    ]);
  });

  it("takes numbers that are given, each end by itself, and another loss with its own", async () => {
    const files = await runWith({ ...agents, train: { loss: "dppo_tv", clipLow: 0.2, clipHigh: 0.28 } });
    const one = await resumed(files, { ...agents, train: { loss: "dppo_tv", clipHigh: 0.3 } });
    expect(one.point.config.train).toMatchObject({ clipLow: 0.2, clipHigh: 0.3 });
    expect(one.said).toEqual([
      "The configuration differs from the one the run began with: train.clipHigh 0.28 -> 0.3.",
    ]);
    const other = await resumed(files, { ...agents, train: { loss: "gspo" } });
    expect(other.point.config.train).toMatchObject({ clipLow: "auto", clipHigh: "auto" });
    expect(other.said[0]).toContain("train.clipLow 0.2 -> 0.0003");
  });

  it("says what has changed although no update is saved, and what that means for the rollouts there are", async () => {
    const files = memoryFiles();
    await files.write("/run/config.json", JSON.stringify({ ...agents, seed: 1 }));
    const { point, said } = await resumed(files, { ...agents, seed: 2, train: { learningRate: 0.5 } });
    expect(said[0]).toBe("There is no checkpoint yet: the run starts over.");
    expect(said[1]).toMatch(
      /^The configuration differs from the one the run began with: seed 1 -> 2, train\.learningRate /,
    );
    expect(point).toMatchObject({ state: { update: 0 }, modelFolder: "/m", rolloutChanges: ["seed 1 -> 2"] });
  });

  it("compares with what was at work last, not with what its checkpoint was made by", async () => {
    const first = await runWith({ ...agents, seed: 1 });
    const { point } = await resumed(first, { ...agents, seed: 1 });
    const { configSha256 } = await startingPoint(
      new RunFolder(memoryFiles(), "/none"),
      { config: point.config, configFolder: "/", resume: false, say() {} },
      memoryFiles(),
    ).then(({ state }) => state);
    const state = { ...freshRunState, update: 3, version: 3, configSha256 };
    await new RunFolder(first, "/run").writeCheckpoint(state, {});
    expect((await resumed(first, { ...agents, seed: 1 })).said).toEqual([]);
    await first.write("/run/config.json", JSON.stringify({ ...agents, seed: 2 }));
    const { point: again, said } = await resumed(first, { ...agents, seed: 1 });
    expect(said).toEqual(["The configuration differs from the one the run began with: seed 2 -> 1."]);
    expect(again.rolloutChanges).toEqual(["seed 2 -> 1"]);
    await first.remove("/run/config.json");
    expect((await resumed(first, { ...agents, seed: 1 })).point.rolloutChanges).toEqual([]);
    expect((await resumed(first, { ...agents, seed: 2 })).point.rolloutChanges).toEqual([
      "unknown, for want of the run's config.json",
    ]);
  });

  it("keeps the seed its weights were drawn with, and says that another changes nothing", async () => {
    const drawn = (randomSeed: number) => parseConfig({ ...agents, model: { path: "m", randomSeed } });
    const files = await runWith(drawn(1));
    const said: string[] = [];
    const request = { config: drawn(9), runFolder: "/run", say: (line: string) => void said.push(line) };
    expect((await withKeptSeed(files, request)).config).toEqual(drawn(1));
    expect(said).toEqual([
      "The run keeps model.randomSeed 1, with which its weights began; 9 would change nothing: begin another run for it.",
    ]);
    expect(await withKeptSeed(files, { ...request, config: drawn(1) })).toMatchObject({ config: drawn(1) });
    expect((await withKeptSeed(memoryFiles(), request)).config).toEqual(drawn(9));
    expect(said).toHaveLength(1);
  });

  it("does not go on from a checkpoint with a damaged file", async () => {
    const files = await runWith(parseConfig(agents));
    await files.write("/run/checkpoints/step_3/model.safetensors", new Uint8Array(2));
    await expect(resumed(files, agents)).rejects.toMatchObject({
      code: "checkpoint_damaged",
      do: "Remove /run/checkpoints/step_3; the run then resumes from the checkpoint before it.",
    });
  });
});
