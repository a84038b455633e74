// Plan: from random weights the loss falls; the folder loads again and its record says how it was made; one seed gives
// one model; continuing from a folder starts where it ended; malformed data is refused by line.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runLeyden } from "../cli/run_leyden.ts";

const calc = fileURLToPath(new URL("../../examples/calc", import.meta.url));
let place: string;

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "leyden_sft_"));
});
afterAll(() => rm(place, { recursive: true }));

interface Line {
  step?: number;
  loss: number;
  weights_sha256?: string;
  examples?: number;
}

async function train(out: string, more: readonly string[]): Promise<Line[]> {
  const shape = ["--batch", "4", "--warmup", "2", "--learning-rate", "3e-3"];
  const ran = await runLeyden(["sft", "--out", join(place, out), ...shape, ...more, "--json"]);
  expect(ran.err).toBe("");
  expect(ran.code).toBe(0);
  return ran.json() as Line[];
}

describe("leyden sft", () => {
  it("trains from random weights by a dataset module, the same from the same seed", async () => {
    const args = [
      "--model",
      `${calc}/model`,
      "--data",
      `${calc}/sft.ts#clean`,
      "--init",
      "--std",
      "0.0625",
      "--steps",
      "8",
    ];
    const lines = await train("first", args);
    expect(lines.slice(0, -1).map((line) => line.step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    // At random weights 656 tokens are about equally likely.
    expect(Math.abs((lines[0]?.loss as number) - Math.log(656))).toBeLessThan(0.5);
    expect(lines.at(-2)?.loss).toBeLessThan((lines[0] as Line).loss - 0.5);
    const again = await train("second", args);
    expect(again.at(-1)?.weights_sha256).toBe(lines.at(-1)?.weights_sha256);
    const record = JSON.parse(await readFile(join(place, "first", "sft.json"), "utf8")) as Record<string, unknown>;
    expect(record).toMatchObject({ examples: 6000, skipped: 0, weights_sha256: lines.at(-1)?.weights_sha256 });
    expect(record.losses).toHaveLength(8);
    expect(await readFile(join(place, "first", "tokenizer.json"), "utf8")).toContain("<|im_end|>");
  });

  it("trains a LoRA adapter, saves a PEFT folder and goes on from it", async () => {
    const shape = ["--data", `${calc}/sft.ts#clean`, "--lora-rank", "4", "--weights", "f16", "--steps", "4"];
    const first = await train("lora", ["--model", `${calc}/model`, ...shape]);
    const folder = join(place, "lora");
    expect(JSON.parse(await readFile(join(folder, "adapter_config.json"), "utf8"))).toMatchObject({
      peft_type: "LORA",
      r: 4,
      lora_alpha: 8,
      target_modules: "all-linear",
      base_model_name_or_path: `${calc}/model`,
    });
    const further = await train("lora2", ["--model", folder, ...shape, "--lora-target", "q_proj"]);
    expect(further.at(-1)?.weights_sha256).not.toBe(first.at(-1)?.weights_sha256);
    // It goes on in the folder's own form, whatever the options say.
    const config = JSON.parse(await readFile(join(place, "lora2", "adapter_config.json"), "utf8")) as {
      target_modules: unknown;
    };
    expect(config.target_modules).toBe("all-linear");
    const refused = await runLeyden(["sft", "--model", folder, "--data", "x", "--out", "y", "--weights", "f16"]);
    expect(refused.err).toContain("--weights holds frozen weights; without --lora-rank all are trained.");
  });

  it("continues from a folder, by lines of ids or of text", async () => {
    const data = join(place, "data.jsonl");
    const lines = [
      { ids: [5, 6, 7, 8], mask: [0, 0, 1, 1] },
      {
        segments: [
          { text: "What is ", train: false },
          { text: "12", train: true },
        ],
      },
    ];
    await writeFile(data, `${lines.map((line) => JSON.stringify(line)).join("\n\n")}\n`);
    const out = await train("third", ["--model", join(place, "first"), "--data", data, "--steps", "3", "--seed", "2"]);
    expect(out.at(-1)).toMatchObject({ examples: 2 });
    expect(out[2]?.loss).toBeLessThan((out[0] as Line).loss);
  });

  it("refuses malformed data by its place", async () => {
    const refusals: [string, string][] = [
      ['{"ids":[1,2],"mask":[1]}\n', "bad.jsonl line 1 is no example."],
      ['{"ids":[1,2],"mask":[0,1]}\n{"ids":', "bad.jsonl line 2 is not JSON."],
      ['{"ids":[1,900],"mask":[0,1]}\n', "ids[1] = 900; it must lie in 0..655"],
      ["\n", "Training needs examples, steps and rows per step; got 0, 1 and 16."],
    ];
    const data = join(place, "bad.jsonl");
    for (const [text, message] of refusals) {
      await writeFile(data, text);
      const args = [
        "sft",
        "--model",
        `${calc}/model`,
        "--init",
        "--data",
        data,
        "--out",
        join(place, "x"),
        "--steps",
        "1",
      ];
      const ran = await runLeyden([...args, "--json"]);
      expect(ran.code).toBe(4);
      expect(ran.out).toContain(message);
    }
    const args = ["sft", "--model", `${calc}/model`, "--data", `${calc}/sft.ts#dirty`, "--out", place, "--json"];
    const missing = await runLeyden(args);
    expect(missing.code).toBe(4);
    expect(missing.json()[0]).toMatchObject({ error: { code: "sft_data" } });
    expect(missing.out).toContain("exports no function");
  });
});
