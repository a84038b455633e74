// Plan: an adapter trained over an f16 folder is saved as a PEFT folder; opened as a model it computes what was trained;
// moved away from its base it says so; training goes on from it; exported it is one model that computes the same; an
// adapter of another model is refused.
import { mkdtempSync, rmSync } from "node:fs";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineOptions, engineDefaults } from "../../src/engine/engine_options.ts";
import type { LocalEngine } from "../../src/engine/local_engine.ts";
import { openLocalEngine } from "../../src/engine/open_local_engine.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { Model } from "../../src/model/model.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import type { EngineSnapshot } from "../../src/schema/engine.ts";
import { runLeyden } from "../cli/run_leyden.ts";
import { adamw, crossEntropy } from "../device/training_rows.ts";
import { qwen3Config } from "../model/configs.ts";
import { openTestDevice, openTestGpu } from "../runtime/gpu.ts";

const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };
const lora = { rank: 4, alpha: 8, targets: ["q_proj", "v_proj", "down_proj"], rslora: false };
const ids = Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6);

let root = "";
let base = "";
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "leyden-lora-"));
  base = join(root, "base");
  const device = await openTestDevice();
  const model = Model.initialize(device, parseHfConfig({ ...qwen3Config, hidden_size: 64 }), { seed: 5, std: 0.3 });
  await model.save(nodeFiles, base, "F16");
  const tokenizer = new URL("../../examples/calc/model/tokenizer.json", import.meta.url);
  await copyFile(tokenizer, join(base, "tokenizer.json"));
  device.close();
});
afterAll(() => rmSync(root, { recursive: true }));

async function open(more: Partial<EngineOptions>): Promise<LocalEngine> {
  const sizes = { kvTokens: 512, maxSequences: 4, microBatchTokens: 64, weights: "f16" as const };
  const host = { gpu: await openTestGpu(), files: nodeFiles, clock };
  return openLocalEngine(host, { ...engineDefaults, ...sizes, modelFolder: base, ...more });
}

function step(engine: LocalEngine, id: string) {
  const row = {
    ids,
    src: Int32Array.of(3, 4, 5, 6),
    target: Int32Array.of(5, 9, 2, 6),
    weight: new Float32Array(4).fill(0.25),
    advantage: new Float32Array(4),
    oldLogprob: new Float32Array(4),
  };
  return engine.update({ id, rows: [row], loss: crossEntropy, optimizer: { ...adamw, learningRate: 0.05 } });
}

async function write(folder: string, { files }: EngineSnapshot): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
}

async function logprobs(engine: LocalEngine): Promise<number[]> {
  return Array.from((await engine.score({ id: "s", ids, temperature: 1 })).logprobs);
}

function expectNear(got: readonly number[], want: readonly number[], tolerance: number): void {
  for (const [i, v] of want.entries()) expect(Math.abs((got[i] as number) - v)).toBeLessThan(tolerance);
}

describe("an adapter as a folder", () => {
  it("is saved, opened, trained further and exported", async () => {
    const adapters = [{ name: "policy", folder: "", lora }];
    const engine = await open({ adapters });
    const untrained = await logprobs(engine);
    for (let i = 0; i < 3; i++) await step(engine, `u${i}`);
    const trained = await logprobs(engine);
    const folder = join(root, "adapter");
    await write(folder, await engine.snapshot({ optimizer: true }));
    await step(engine, "u3");
    const further = await engine.snapshot({ optimizer: true });
    await engine.close();
    expect(Math.abs((trained[6] as number) - (untrained[6] as number))).toBeGreaterThan(0.01);

    const served = await open({ modelFolder: folder, train: false });
    expect((await served.info()).adapters).toEqual(["policy"]);
    expect(await logprobs(served)).toEqual(trained);
    await served.close();

    const resumed = await open({ modelFolder: folder, optimizerFolder: folder, adapters });
    await step(resumed, "u3");
    const again = await resumed.snapshot({ optimizer: true });
    expect(again.weightsSha256).toBe(further.weightsSha256);
    expect(again.optimizerSteps).toBe(4);
    await resumed.close();

    const out = join(root, "merged");
    const said = await runLeyden(["export", "--model", folder, out, "--dtype", "f32", "--json"]);
    expect(said.code).toBe(0);
    const merged = await open({ modelFolder: out, train: false, weights: "f32" });
    expect((await merged.info()).adapters).toBeUndefined();
    expectNear(await logprobs(merged), trained, 2e-5);
    await merged.close();
    const scored = await runLeyden(["score", "--model", folder, "--ids", ids.join(), "--json"]);
    expectNear((scored.json()[0] as { logprobs: number[] }).logprobs, trained, 2e-5);
  });

  it("may be one of several in a checkpoint, which is served and resumed whole", async () => {
    const adapters = ["a", "b"].map((name) => ({ name, folder: "", lora }));
    const engine = await open({ adapters });
    await step(engine, "u");
    const [a, b] = [
      await logprobs(engine),
      (await engine.score({ id: "b", ids, temperature: 1, adapter: "b" })).logprobs,
    ];
    const folder = join(root, "several");
    const snapshot = await engine.snapshot({ optimizer: true });
    for (const name of ["a", "b"]) await mkdir(join(folder, name), { recursive: true });
    await write(folder, snapshot);
    await engine.close();

    const served = await open({ modelFolder: folder, train: false });
    expect((await served.info()).adapters).toEqual(["a", "b"]);
    expect(await logprobs(served)).toEqual(a);
    expect((await served.score({ id: "b", ids, temperature: 1, adapter: "b" })).logprobs).toEqual(b);
    await served.close();

    const own = adapters.map((options) => ({ ...options, folder: join(folder, options.name) }));
    const resumed = await open({ modelFolder: folder, optimizerFolder: folder, adapters: own });
    expect((await resumed.snapshot({ optimizer: true })).weightsSha256).toBe(snapshot.weightsSha256);
    expect((await resumed.snapshot({ optimizer: true })).optimizerSteps).toBe(1);
    await resumed.close();

    const { err } = await runLeyden(["export", "--model", folder, join(root, "none")]);
    expect(err).toContain(`${folder} holds the adapters a, b.\nName one of them, such as ${folder}/a.`);
  });

  it("says when its base model is not there", async () => {
    const folder = join(root, "lost");
    await mkdir(folder);
    const config = { peft_type: "LORA", r: 4, lora_alpha: 8, target_modules: ["q_proj"] };
    await writeFile(
      join(folder, "adapter_config.json"),
      JSON.stringify({ ...config, base_model_name_or_path: "org/name" }),
    );
    await expect(open({ modelFolder: folder })).rejects.toThrow(
      `The adapter ${folder} belongs to "org/name", which is no model folder here.`,
    );
  });

  it("is refused with another model", async () => {
    const engine = await open({ adapters: [{ name: "policy", folder: "", lora }] });
    const snapshot = await engine.snapshot({ optimizer: false });
    await engine.close();
    const folder = join(root, "other");
    const config = JSON.parse(new TextDecoder().decode(snapshot.files["adapter_config.json"])) as Record<
      string,
      unknown
    >;
    const narrower = new TextEncoder().encode(JSON.stringify({ ...config, target_modules: ["q_proj"] }));
    await write(folder, { ...snapshot, files: { ...snapshot.files, "adapter_config.json": narrower } });
    await expect(open({ modelFolder: folder })).rejects.toThrow(
      /adapter_model\.safetensors holds "base_model\.model\.model\.layers\.0\.mlp\.down_proj\.lora_A\.weight", /,
    );
    const out = join(root, "never");
    expect((await runLeyden(["export", "--model", folder, out])).err).toContain("which the adapter does not have");
  });
});
