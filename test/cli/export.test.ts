// Plan: bytes and types round trip; a checkpoint, a run, an explicit step; conversion and its limits; what a target may
// hold; what carries no weights is left out and said; refusals.
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileDType } from "../../src/core/dtype.ts";
import { ModelFolder } from "../../src/io/model_folder.ts";
import type { TensorSource } from "../../src/io/safetensors.ts";
import { saveModel } from "../../src/io/save_model.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { itShared } from "../shared.ts";
import { runLeyden } from "./run_leyden.ts";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "leyden-export-"));
});
afterAll(() => rmSync(root, { recursive: true }));

const config = { model_type: "other", torch_dtype: "float32" };

function tensor(name: string, values: number[], dtype: FileDType = "F32"): TensorSource {
  return { name, dtype, shape: [values.length], load: () => Float32Array.from(values) };
}

let folders = 0;
const fresh = (): string => join(root, `f${folders++}`);

/** A model folder with a tokenizer, and files that do not belong to a model. */
async function model(tensors: TensorSource[], json: Record<string, unknown> = config): Promise<string> {
  const folder = fresh();
  await saveModel(nodeFiles, folder, { config: json, tensors });
  for (const name of ["tokenizer.json", "tokenizer_config.json", "generation_config.json"]) {
    writeFileSync(join(folder, name), `{"of":"${name}"}`);
  }
  mkdirSync(join(folder, "additional_chat_templates"));
  writeFileSync(join(folder, "additional_chat_templates", "rag.jinja"), "{{ rag }}");
  writeFileSync(join(folder, "optimizer.safetensors"), "moments");
  return folder;
}

async function contents(folder: string): Promise<Record<string, [string, ...number[]]>> {
  const opened = await ModelFolder.open(nodeFiles, folder);
  const entries = opened.names.map(async (name) => [name, [opened.entry(name).dtype, ...(await opened.read(name))]]);
  return Object.fromEntries(await Promise.all(entries));
}

/** A run whose checkpoints hold [step] each. */
async function run(...steps: number[]): Promise<string> {
  const folder = fresh();
  mkdirSync(join(folder, "checkpoints"), { recursive: true });
  for (const step of steps) {
    const checkpoint = join(folder, "checkpoints", `step_${step}`);
    await saveModel(nodeFiles, checkpoint, { config, tensors: [tensor("w", [step])] });
    const counts = { update: step, version: step, optimizerSteps: step, cursor: step, carryOver: [], storeSeq: 0 };
    const state = { format: 1, ...counts, configSha256: "", weightsSha256: "" };
    writeFileSync(join(checkpoint, "state.json"), JSON.stringify(state));
    writeFileSync(join(checkpoint, "optimizer.safetensors"), "moments");
  }
  return folder;
}

const sha = (folder: string, name: string): string =>
  createHash("sha256")
    .update(readFileSync(join(folder, name)))
    .digest("hex");

describe("leyden export", () => {
  it("writes the model's files and nothing else, byte for byte", async () => {
    const from = await model([tensor("a", [1, -2.5, 3]), tensor("b", [0.1], "BF16"), tensor("c", [7], "F16")]);
    const out = fresh();
    const { code, json } = await runLeyden(["export", "--model", from, out, "--json"]);
    expect(code).toBe(0);
    const files = [
      "additional_chat_templates/rag.jinja",
      "config.json",
      "generation_config.json",
      "model.safetensors",
      "tokenizer.json",
      "tokenizer_config.json",
    ];
    expect(json()).toEqual([
      { out, source: from, tensors: 3, parameters: 5, weights_sha256: expect.stringMatching(/^[0-9a-f]{64}$/), files },
    ]);
    expect(readdirSync(out, { recursive: true }).sort()).toEqual(["additional_chat_templates", ...files].sort());
    for (const name of files) expect(sha(out, name), name).toBe(sha(from, name));
  });

  it("takes a run's newest checkpoint, or the one that is named", async () => {
    const folder = await run(2, 10, 9);
    const newest = fresh();
    const said = await runLeyden(["export", "--model", folder, newest]);
    expect(said.out).toBe(`Wrote ${newest} from ${folder}/checkpoints/step_10: 1 tensor, 1 parameter.\n`);
    expect(said.err).toBe(`${folder}/checkpoints/step_10 has no tokenizer.json, so ${newest} has none.\n`);
    expect(await contents(newest)).toEqual({ w: ["F32", 10] });
    expect(readdirSync(newest).sort()).toEqual(["config.json", "model.safetensors"]);
    const second = fresh();
    expect((await runLeyden(["export", "--model", `${folder}/checkpoints/step_2`, second])).code).toBe(0);
    expect(await contents(second)).toEqual({ w: ["F32", 2] });
  });

  it("converts, says so in config.json, and joins shards", async () => {
    const from = fresh();
    const tensors = [tensor("a", [1, 2, 1 + 2 ** -9]), tensor("b", [65504, 1e-8])];
    await saveModel(nodeFiles, from, { config: { model_type: "other", dtype: "float32" }, tensors, maxShardBytes: 12 });
    const expected = {
      f16: { a: ["F16", 1, 2, 1 + 2 ** -9], b: ["F16", 65504, 0] },
      bf16: { a: ["BF16", 1, 2, 1], b: ["BF16", 65536, Math.fround(1.0011717677116394e-8)] },
      f32: { a: ["F32", 1, 2, 1 + 2 ** -9], b: ["F32", 65504, Math.fround(1e-8)] },
    };
    for (const [dtype, weights] of Object.entries(expected)) {
      const out = fresh();
      expect((await runLeyden(["export", "--model", from, out, "--dtype", dtype])).code).toBe(0);
      expect(await contents(out)).toEqual(weights);
      const { dtype: named } = JSON.parse(readFileSync(join(out, "config.json"), "utf8"));
      expect(named).toBe({ f16: "float16", bf16: "bfloat16", f32: "float32" }[dtype]);
      expect(readdirSync(out).sort()).toEqual(["config.json", "model.safetensors"]);
    }
  });

  it("refuses a weight that the type cannot hold, before it writes", async () => {
    const from = await model([tensor("a", [1]), tensor("big", [0, 65520])]);
    const out = fresh();
    const { code, err } = await runLeyden(["export", "--model", from, out, "--dtype", "f16"]);
    expect(code).toBe(4);
    expect(err).toBe(
      `error [dtype_overflow]: ${from}: tensor "big" holds 65520, too large for F16.\nExport as bf16 or f32.\n`,
    );
    expect(await nodeFiles.exists(out)).toBe(false);
    const largest = await model([tensor("a", [2 ** 128 - 2 ** 119])]);
    expect((await runLeyden(["export", "--model", largest, out, "--dtype", "bf16"])).err).toContain("dtype_overflow");
    expect((await runLeyden(["export", "--model", largest, out])).code).toBe(0);
  });

  it("replaces a model in a folder that is not empty only when told to, and leaves the rest", async () => {
    const from = await model([tensor("a", [5])]);
    const out = fresh();
    await saveModel(nodeFiles, out, { config, tensors: [tensor("x", [1]), tensor("y", [2])], maxShardBytes: 4 });
    writeFileSync(join(out, "chat_template.jinja"), "of the old model");
    writeFileSync(join(out, "README.md"), "mine");
    const before = readdirSync(out).sort();
    const refused = await runLeyden(["export", "--model", from, out]);
    expect(refused.code).toBe(4);
    expect(refused.err).toBe(
      `error [folder_not_empty]: ${out} holds 6 entries already.\n` +
        "Name a new folder, or pass --force to replace the model in it.\n",
    );
    expect(readdirSync(out).sort()).toEqual(before);
    expect((await runLeyden(["export", "--model", from, out, "--force"])).code).toBe(0);
    expect(readdirSync(out).sort()).toEqual([
      "README.md",
      "additional_chat_templates",
      "config.json",
      "generation_config.json",
      "model.safetensors",
      "tokenizer.json",
      "tokenizer_config.json",
    ]);
    expect(await contents(out)).toEqual({ a: ["F32", 5] });
  });

  it("never writes over what it reads", async () => {
    const from = await model([tensor("a", [5])]);
    const { code, err } = await runLeyden([
      "export",
      "--model",
      from,
      `${from}/../${from.split("/").at(-1)}`,
      "--force",
    ]);
    expect(code).toBe(4);
    expect(err).toContain("is the model to export.\nName another folder.\n");
    expect(await contents(from)).toEqual({ a: ["F32", 5] });
  });

  it("leaves out what carries no weights, and says so", async () => {
    const gpt2 = { model_type: "gpt2", n_layer: 1, n_head: 1, n_embd: 4, n_positions: 8, vocab_size: 3 };
    const from = await model([tensor("transformer.wte.weight", [1]), tensor("transformer.h.0.attn.bias", [1])], gpt2);
    const { code, err } = await runLeyden(["export", "--model", from, fresh()]);
    expect(code).toBe(0);
    expect(err).toBe("Left out, as they carry no weights: transformer.h.0.attn.bias.\n");
  });

  it("says what is wrong with its source", async () => {
    const cases = [
      [join(root, "nowhere"), "file_missing", "Name a model folder, a run or a checkpoint."],
      [await run(), "checkpoint_missing", "Wait for its first one, or name the model it started from."],
    ] as const;
    for (const [source, code, advice] of cases) {
      const { code: exit, json } = await runLeyden(["export", "--model", source, fresh(), "--json"]);
      expect(exit).toBe(4);
      expect(json()).toEqual([{ error: { code, message: expect.stringContaining(source), do: advice } }]);
    }
  });

  it("checks its arguments", async () => {
    for (const [args, message] of [
      [["--model", "m"], "leyden export needs OUT."],
      [["out"], "--model is missing."],
      [["--model", "m", "out", "--dtype", "bf61"], '--dtype is "bf61".'],
      [["--model", "m", "out", "--forse"], "leyden export has no option --forse."],
    ] as const) {
      const { code, err } = await runLeyden(["export", ...args]);
      expect({ code, err }).toEqual({ code: 4, err: expect.stringContaining(`error [usage]: ${message}`) });
    }
    expect((await runLeyden(["export", "--model", "m", "out", "--forse"])).err).toContain('Did you mean "--force"?');
  });

  itShared("keeps a real model's weights bit by bit", "assets/stories260k/hf", async (from) => {
    const out = fresh();
    expect((await runLeyden(["export", "--model", from, out])).code).toBe(0);
    expect(await contents(out)).toEqual(await contents(from));
  });
});
