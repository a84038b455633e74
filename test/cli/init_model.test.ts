// Plan: every preset is a folder that the family's loader takes whole; a seed decides the weights; ids of the tokenizer
// and its end of turn; what is copied; refusals.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelPresets } from "../../src/app/model_presets.ts";
import { ModelFolder } from "../../src/io/model_folder.ts";
import { familyOf } from "../../src/model/families/registry.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { runLeyden } from "./run_leyden.ts";

const tokenizer = fileURLToPath(new URL("../../examples/calc/model", import.meta.url));
let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "leyden-init-"));
});
afterAll(() => rmSync(root, { recursive: true }));

let folders = 0;
const fresh = (): string => join(root, `f${folders++}`);

async function init(...args: string[]): Promise<string> {
  const out = fresh();
  const ran = await runLeyden(["init-model", out, "--tokenizer", tokenizer, ...args]);
  expect(ran.err).toBe("");
  expect(ran.code).toBe(0);
  return out;
}

async function weight(folder: string, name: string): Promise<Float32Array> {
  return await (await ModelFolder.open(nodeFiles, folder)).read(name);
}

describe("leyden init-model", () => {
  it.each(Object.entries(modelPresets))("writes a whole model: %s", async (preset, { shape }) => {
    const folder = await ModelFolder.open(nodeFiles, await init("--preset", preset));
    const family = familyOf(folder.config);
    const description = family.describe(folder.config);
    const wanted = family.tensors(description).map(({ name, shape }) => `${name} ${shape}`);
    expect(folder.names.map((name) => `${name} ${folder.entry(name).shape}`).sort()).toEqual(wanted.sort());
    expect(description).toMatchObject({
      layers: shape.num_hidden_layers,
      width: shape.hidden_size,
      contextLength: shape.max_position_embeddings,
      positions: { kind: "rotary", rotaryDim: shape.head_dim },
      tiedHead: true,
    });
  });

  it("makes the scripted preset one layer of width 32 with 131,072 positions", async () => {
    const config = JSON.parse(readFileSync(join(await init("--preset=scripted"), "config.json"), "utf8"));
    expect(config).toMatchObject({ num_hidden_layers: 1, hidden_size: 32, max_position_embeddings: 131_072 });
  });

  it("draws the same weights for a seed, and others for another", async () => {
    const [a, b, c] = await Promise.all([init("--seed=7"), init("--seed=7"), init("--seed=8")]);
    const name = "model.layers.0.self_attn.q_proj.weight";
    expect(await weight(a, name)).toEqual(await weight(b, name));
    expect(await weight(a, name)).not.toEqual(await weight(c, name));
    expect([...(await weight(a, "model.norm.weight"))]).toEqual(new Array(64).fill(1));
  });

  it("draws matrices with the config's deviation", async () => {
    const values = await weight(await init(), "model.embed_tokens.weight");
    const variance = values.reduce((sum, value) => sum + value * value, 0) / values.length;
    expect(Math.sqrt(variance)).toBeCloseTo(0.02, 3);
  });

  it("has a row for every id, names the end of turn, and brings tokenizer and template", async () => {
    const out = fresh();
    const ran = await runLeyden(["init-model", out, "--tokenizer", tokenizer, "--json"]);
    expect(ran.json()).toEqual([
      { out, preset: "tiny", seed: 1, parameters: 142_656, vocab_size: 656, stop_ids: [642] },
    ]);
    expect(JSON.parse(readFileSync(join(out, "config.json"), "utf8"))).toMatchObject({ eos_token_id: 642 });
    expect(readdirSync(out).sort()).toEqual([
      "config.json",
      "model.safetensors",
      "tokenizer.json",
      "tokenizer_config.json",
    ]);
  });

  it("says when replies have no end", async () => {
    const bare = fresh();
    mkdirSync(bare);
    const model = { type: "BPE", vocab: { a: 0, b: 1 }, merges: [] };
    writeFileSync(join(bare, "tokenizer.json"), JSON.stringify({ model, added_tokens: [] }));
    const ran = await runLeyden(["init-model", fresh(), "--tokenizer", bare]);
    expect(ran.code).toBe(0);
    expect(ran.err).toBe(
      "The tokenizer has no token that ends a turn: replies of this model end at the longest length only.\n",
    );
  });

  it("refuses a folder with files unless told to replace them", async () => {
    const out = await init();
    const again = ["init-model", out, "--tokenizer", tokenizer];
    const refused = await runLeyden(again);
    expect(refused.code).toBe(4);
    expect(refused.err).toBe(
      `error [folder_not_empty]: ${out} holds 4 entries already.\nName a new folder, or pass --force to replace the model in it.\n`,
    );
    expect((await runLeyden([...again, "--force"])).code).toBe(0);
  });

  it("refuses unknown presets and folders without a tokenizer", async () => {
    const preset = await runLeyden(["init-model", fresh(), "--tokenizer", tokenizer, "--preset=tini"]);
    expect([preset.code, preset.err]).toEqual([4, 'error [usage]: --preset is "tini".\nDid you mean "tiny"?\n']);
    const missing = await runLeyden(["init-model", fresh(), "--tokenizer", root]);
    expect([missing.code, missing.err.split(":")[0]]).toEqual([4, "error [tokenizer_missing]"]);
  });
});
