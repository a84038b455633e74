// Plan: engines whose policies have value heads, the model itself or two adapters over one: values come with the scores,
// an update moves its own head, a step of the head alone changes no version; a checkpoint holds heads with their moments,
// from which a lost device comes back, and a snapshot without moments does not; where there is none, none is asked.
import { describe, expect, it } from "#test";
import { adapterMoments, openAdapters } from "../../src/engine/adapter_files.ts";
import { type EngineOptions, engineDefaults } from "../../src/engine/engine_options.ts";
import type { ModelState } from "../../src/engine/engine_parts.ts";
import { parseEngineFaults } from "../../src/engine/faults.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { ModelParts } from "../../src/engine/model_parts.ts";
import { openValueHeads, valueHeadMoments } from "../../src/engine/value_head_files.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { memoryWeights } from "../../src/model/memory_weights.ts";
import { Model } from "../../src/model/model.ts";
import type { UpdateRequest } from "../../src/schema/engine.ts";
import type { Files } from "../../src/schema/files.ts";
import type { ScoreRowsRequest } from "../../src/schema/row_scores.ts";
import { llamaConfig } from "../model/configs.ts";
import { openTestDevice } from "../runtime/gpu.ts";
import { adamw, ppo } from "./training_rows.ts";
import { valuedRows, valueLoss } from "./value_rows.ts";

const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };
const lora = { rank: 4, alpha: 8, targets: "all-linear", rslora: false } as const;
/** Nothing lies in a folder. */
const noFiles = { join: (...parts: string[]) => parts.join("/"), exists: async () => false } as unknown as Files;

async function openParts(options: EngineOptions, state: ModelState | null): Promise<ModelParts> {
  const device = await openTestDevice();
  const config = parseHfConfig(llamaConfig);
  const saved = state?.files["model.safetensors"];
  const model =
    saved === undefined
      ? Model.initialize(device, config, { seed: 5, std: 0.3 })
      : await Model.load(device, config, await memoryWeights("model.safetensors", saved));
  const adapters = await openAdapters(noFiles, model, options, state);
  const valueHeads = await openValueHeads(noFiles, model, options, state);
  const parts = new ModelParts({ model, adapters, valueHeads, options, clock, decodeText: () => "" });
  for (const adapter of options.adapters) {
    const moments = await adapterMoments(noFiles, options, adapter, state);
    if (moments !== undefined) await parts.restoreOptimizer(moments, adapter.name);
  }
  const own = state?.files["optimizer.safetensors"];
  if (own !== undefined) await parts.restoreOptimizer(own);
  await parts.restoreValueHeads(await valueHeadMoments(noFiles, options, state));
  return parts;
}

function openEngine(names: readonly string[], faults = "", valueHead = true): Promise<LocalEngine> {
  const options: EngineOptions = {
    ...engineDefaults,
    ...{ modelFolder: "m", kvTokens: 256, maxSequences: 4, microBatchTokens: 128, valueHead },
    adapters: names.map((name) => ({ name, folder: "", lora })),
  };
  return LocalEngine.open({
    open: (state) => openParts(options, state),
    clock,
    limits: options,
    version: 0,
    faults: parseEngineFaults(faults),
  });
}

const rows = valuedRows(4, 40, 1);

function update(id: string, adapter?: string): UpdateRequest {
  return { id, rows, loss: ppo, optimizer: adamw, value: valueLoss, ...(adapter === undefined ? {} : { adapter }) };
}

function scores(adapter?: string): ScoreRowsRequest {
  const asked = { policy: true, reference: false, values: true, temperature: 1 };
  return { id: "s", rows, ...asked, ...(adapter === undefined ? {} : { adapter }) };
}

describe("an engine with value heads", () => {
  for (const names of [[], ["a"], ["a", "b"]]) {
    it(`comes back from its state as it was: ${names.length} adapters`, async () => {
      const whole = await openEngine(names);
      const lost = await openEngine(names, "device-lost@update:2");
      const of = names.at(-1);
      for (const engine of [whole, lost]) {
        for (const id of ["u1", "u2", "u3"]) expect((await engine.update(update(id, of))).skipped).toBeNull();
      }
      expect((await lost.stats()).deviceLosses).toBe(1);
      const [a, b] = [await whole.scoreRows(scores(of)), await lost.scoreRows(scores(of))];
      expect(b.values).toEqual(a.values);
      expect(a.values?.every((v) => v !== 0)).toBe(true);
      const [one, other] = [await whole.snapshot({ optimizer: true }), await lost.snapshot({ optimizer: true })];
      expect(other.files).toEqual(one.files);
      const prefixes = names.length < 2 ? [""] : names.map((name) => `${name}/`);
      const own = prefixes.flatMap((p) => [`${p}value_head.safetensors`, `${p}value_head_optimizer.safetensors`]);
      expect(own.filter((name) => !(name in one.files))).toEqual([]);
      const plain = Object.keys((await whole.snapshot({ optimizer: false })).files);
      expect(plain.filter((name) => /value_head|optimizer/.test(name))).toEqual([]);
      await whole.close();
      await lost.close();
    });
  }

  it("moves the head of the policy that learns alone; a step of a head changes no version", async () => {
    const engine = await openEngine(["a", "b"]);
    expect((await engine.scoreRows(scores("a"))).values?.every((v) => v === 0)).toBe(true);
    const { value } = await engine.update(update("u", "a"));
    expect(value?.loss).toBeGreaterThan(0);
    const first = await engine.scoreRows(scores("a"));
    expect(first.values?.some((v) => v !== 0)).toBe(true);
    expect((await engine.scoreRows(scores("b"))).values?.every((v) => v === 0)).toBe(true);
    const { version } = await engine.info();
    const how = { rows, optimizer: adamw, clipRange: 0 };
    expect((await engine.updateCritic({ id: "c", adapter: "b", ...how })).skipped).toBeNull();
    expect((await engine.info()).version).toBe(version);
    expect((await engine.scoreRows(scores("b"))).values?.some((v) => v !== 0)).toBe(true);
    const alone = await engine.scoreRows({ ...scores("a"), policy: false });
    expect([alone.logprobs, alone.values]).toEqual([null, first.values]);
    await engine.close();
  });

  it("has none to ask unless it was opened with one", async () => {
    const engine = await openEngine([], "", false);
    await expect(engine.scoreRows(scores())).rejects.toThrow("This engine was opened without a critic.");
    await expect(engine.update(update("u"))).rejects.toThrow("this policy has no value head");
    await engine.close();
  });
});
