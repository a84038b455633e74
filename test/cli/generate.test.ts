// Plan: what needs no device: arguments, token ids, sampling options, what a folder says about text.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseCommandLine } from "../../src/cli/args.ts";
import { command } from "../../src/cli/generate.ts";
import { readModelText } from "../../src/cli/model_text.ts";
import { samplingOf, seedOf } from "../../src/cli/sampling_options.ts";
import { singleSequence } from "../../src/cli/single_sequence.ts";
import { parseTokenIds } from "../../src/cli/token_ids.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { runLeyden } from "./run_leyden.ts";

const calc = fileURLToPath(new URL("../../examples/calc/model", import.meta.url));
let bare = "";
beforeAll(() => {
  bare = mkdtempSync(join(tmpdir(), "leyden-generate-"));
  const config = {
    model_type: "gpt2",
    n_layer: 1,
    n_head: 1,
    n_embd: 4,
    n_positions: 11,
    vocab_size: 3,
    eos_token_id: 2,
  };
  writeFileSync(join(bare, "config.json"), JSON.stringify(config));
  writeFileSync(join(bare, "generation_config.json"), '{"eos_token_id":[1,2]}');
});
afterAll(() => rmSync(bare, { recursive: true }));

describe("leyden generate", () => {
  it("checks its arguments before it opens anything", async () => {
    const model = ["--model", calc];
    const either =
      "leyden generate needs --prompt or --prompt-ids, and not both.\nPass --prompt TEXT or --prompt-ids 1,2,3.";
    const idle = "--greedy takes the likeliest token each time, so --top-p would have no effect.";
    for (const [args, expected] of [
      [["--prompt", "x"], "error [usage]: --model is missing."],
      [model, `error [usage]: ${either}\n`],
      [[...model, "--prompt", "x", "--prompt-ids", "1"], `error [usage]: ${either}\n`],
      [[...model, "--prompt-ids", "1,,2"], 'error [usage]: --prompt-ids holds "", which is no token id.'],
      [[...model, "--prompt-ids", "1,-2"], 'error [usage]: --prompt-ids holds "-2", which is no token id.'],
      [[...model, "--prompt", "x", "--token", "3"], 'no option --token.\nDid you mean "--tokens"?\n'],
      [[...model, "--prompt", "x", "--tokens", "1.5"], '--tokens is "1.5", which is not a whole number.'],
      [
        [...model, "--prompt", "x", "--greedy", "--top-p", "0.5"],
        `error [usage]: ${idle}\nLeave out --greedy or --top-p.`,
      ],
      [[...model, "--prompt", "x", "y"], '"y" is one argument too many for leyden generate.'],
      [[...model, "--prompt", ""], "error [usage]: The prompt is empty, and this model has no token for the beginning"],
      [
        ["--model", "/nowhere", "--prompt", "x"],
        "error [file_missing]: There is no /nowhere.\nName a model folder, a run",
      ],
    ] as const) {
      const { code, out, err } = await runLeyden(["generate", ...args]);
      expect({ code, out, err }).toEqual({ code: 4, out: "", err: expect.stringContaining(expected) });
    }
  });

  it("reports an error as one line of JSON", async () => {
    const { code, out, err } = await runLeyden(["generate", "--model", bare, "--prompt", "x", "--json"]);
    expect({ code, err }).toEqual({ code: 4, err: "" });
    const error = {
      code: "tokenizer_missing",
      message: `${bare} has no tokenizer.json.`,
      do: "Put the model's tokenizer.json there, or pass --prompt-ids.",
    };
    expect(out).toBe(`${JSON.stringify({ error })}\n`);
  });
});

describe("options", () => {
  const args = (...argv: string[]) => parseCommandLine(command, argv);

  it("give the sampling", () => {
    expect(samplingOf(args(), 0.7)).toEqual({ temperature: 0.7, topK: 0, topP: 1, minP: 0 });
    expect(samplingOf(args("--greedy"))).toEqual({ temperature: 0, topK: 0, topP: 1, minP: 0 });
    expect(samplingOf(args("--temperature", "2", "--top-k", "3", "--top-p", "0.5", "--min-p", "0.1"))).toEqual({
      temperature: 2,
      topK: 3,
      topP: 0.5,
      minP: 0.1,
    });
  });

  it("give the seed, random when none is given", () => {
    const entropy = { bytes: (n: number) => Uint8Array.from({ length: n }, (_, i) => i + 1) };
    expect(seedOf(args("--seed", "5"), entropy)).toBe(5);
    expect(seedOf(args(), entropy)).toBe(0x01020304);
  });

  it("hold token ids", () => {
    expect(parseTokenIds("ids", "3")).toEqual([3]);
    expect(parseTokenIds("ids", " 0, 2147483647")).toEqual([0, 2147483647]);
    for (const [text, wrong] of [
      ["", ""],
      ["1,2147483648", "2147483648"],
      ["1;2", "1;2"],
    ] as const) {
      expect(() => parseTokenIds("ids", text)).toThrow(`--ids holds "${wrong}", which is no token id.`);
    }
  });
});

describe("a model folder", () => {
  it("has stop ids with and without a tokenizer", async () => {
    expect(await readModelText(nodeFiles, bare)).toEqual({ folder: bare, tokenizer: null, stopIds: [1, 2] });
    expect((await readModelText(nodeFiles, calc)).stopIds).toEqual([642]);
  });

  it("is opened for one sequence with the cache that it can use", async () => {
    const single = { modelFolder: bare, train: false, maxSequences: 1, burst: 16 };
    expect(await singleSequence(nodeFiles, bare, 5)).toEqual({ ...single, kvTokens: 5 + 16 });
    expect(await singleSequence(nodeFiles, bare, 500)).toEqual({ ...single, kvTokens: 11 + 16 });
    writeFileSync(
      join(bare, "config.json"),
      JSON.stringify({ model_type: "gpt2", n_layer: 1, n_head: 1, n_embd: 4, n_positions: 9000, vocab_size: 3 }),
    );
    expect(await singleSequence(nodeFiles, bare, 1e6)).toEqual({ ...single, kvTokens: 0 });
  });
});
