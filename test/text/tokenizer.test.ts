import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesOfPiece } from "../../src/text/byte_letters.ts";
import { IncrementalDecoder } from "../../src/text/incremental_decoder.ts";
import { Tokenizer } from "../../src/text/tokenizer.ts";
import { itShared } from "../shared.ts";
import { sharedTokenizerFiles } from "./formats.ts";
import { tinyTokenizerFiles } from "./tiny_tokenizer.ts";

const tiny = Tokenizer.load(tinyTokenizerFiles());
const text = fc.string({ unit: "binary", maxLength: 40 });

/** Pieces of an incremental decode, and what came at the end. */
function pieces(tokenizer: Tokenizer, ids: readonly number[], options = {}): string[] {
  const decoder = new IncrementalDecoder(tokenizer, options);
  return [...ids.map((id) => decoder.push(id)), decoder.flush()];
}

describe("tokenizer", () => {
  it("merges by rank and matches added tokens first", () => {
    const id = (token: string) => tiny.idOf(token);
    expect(tiny.encode("hello the<|im_end|>")).toEqual([id("hello"), id("Ġthe"), id("<|im_end|>")]);
    expect(tiny.encode("")).toEqual([]);
    expect(tiny.isSpecial(id("<|im_end|>") ?? -1)).toBe(true);
    expect(tiny.isSpecial(id("<tool_call>") ?? -1)).toBe(false);
  });

  it("takes merges written as pairs as it takes those written as text", () => {
    const files = tinyTokenizerFiles();
    const model = files.tokenizer.model as { merges: string[] };
    const paired = { ...model, merges: model.merges.map((merge) => merge.split(" ")) };
    const other = Tokenizer.load({ ...files, tokenizer: { ...files.tokenizer, model: paired } });
    fc.assert(fc.property(text, (value) => void expect(other.encode(value)).toEqual(tiny.encode(value))));
  });

  it("round-trips every text", () => {
    fc.assert(
      fc.property(text, (value) => void expect(tiny.decode(tiny.encode(value))).toBe(value)),
      { numRuns: 300 },
    );
  });

  it("knows the bytes of tokens that are parts of characters", () => {
    const bytes = (written: string) => tiny.encode(written).map((id) => [...tiny.tokenBytes(id)]);
    expect(bytes("é the\ufffd<|im_end|>")).toEqual([
      [0xc3],
      [0xa9],
      [...new TextEncoder().encode(" the")],
      [0xef],
      [0xbf],
      [0xbd],
      [...new TextEncoder().encode("<|im_end|>")],
    ]);
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (written) => {
        expect(bytes(written).flat()).toEqual([...new TextEncoder().encode(written)]);
      }),
    );
    expect(bytesOfPiece("<0xE3>")).toEqual(Uint8Array.of(0xe3));
    expect(bytesOfPiece("Ġt")).toEqual(Uint8Array.of(0x20, 0x74));
    expect([bytesOfPiece("▁t"), bytesOfPiece("\ufffd"), bytesOfPiece("日")]).toEqual([null, null, null]);
  });

  it("never cleans up spaces", () => {
    const config = { clean_up_tokenization_spaces: true };
    const tokenizer = Tokenizer.load(tinyTokenizerFiles({ tokenizerConfig: config }));
    expect(tokenizer.decode(tokenizer.encode("hello . it ' s , n't"))).toBe("hello . it ' s , n't");
  });

  it("decodes no ids to no text, skips special tokens when asked and ids outside the vocabulary always", () => {
    const ids = [...tiny.encode("a<|im_end|><tool_call>b"), 100_000];
    expect(tiny.decode([])).toBe("");
    expect(tiny.decode([100_000])).toBe("");
    expect(tiny.decode(Int32Array.from(ids))).toBe("a<|im_end|><tool_call>b");
    expect(tiny.decode(ids, { skipSpecial: true })).toBe("a<tool_call>b");
  });

  it("has a second encoder without chosen added tokens", () => {
    const plain = tiny.withAddedTokens((token) => token.content === "<think>");
    const value = "a<|im_end|><think>b";
    expect(tiny.decode(plain(value, true))).toBe(value);
    expect(plain(value, true)).toContain(tiny.idOf("<think>"));
    expect(plain(value, true)).not.toContain(tiny.idOf("<|im_end|>"));
    expect(plain(value, false)).toEqual(plain(value, true));
    expect(plain("hello", true)).toEqual(tiny.encode("hello"));
  });

  it("finds roles in the config, the special tokens map, ids of configs, and customary forms, in that order", () => {
    const added = [
      ["<|end|>", 1],
      ["<eos>", 2],
      ["[SEP]", 3],
      ["<s>", 4],
    ].map(([content, id]) => ({ content, id, special: true }));
    const files = tinyTokenizerFiles({ tokenizerConfig: null, modelConfig: { eos_token_id: [1, 2], bos_token_id: 9 } });
    const load = (more: object) =>
      Tokenizer.load({ ...files, tokenizer: { ...files.tokenizer, added_tokens: added }, ...more }).specialTokens;
    expect(load({})).toEqual({ eos_token: "<|end|>", sep_token: "[SEP]" });
    expect(load({ modelConfig: null })).toEqual({ eos_token: "<eos>", sep_token: "[SEP]" });
    expect(load({ specialTokensMap: { eos_token: { content: "<eos>" } } }).eos_token).toBe("<eos>");
    expect(load({ tokenizerConfig: { eos_token: "<s>" }, specialTokensMap: { eos_token: "<eos>" } }).eos_token).toBe(
      "<s>",
    );
  });

  it.each<[string, object, string]>([
    ["nothing", {}, "tiny: tokenizer.json cannot be used: it has no model.vocab."],
    ["an unknown decoder", { decoder: { type: "Riddle" } }, "Unknown Decoder type: Riddle"],
    ["an unknown pre-tokenizer", { pre_tokenizer: { type: "Riddle" } }, "Unknown PreTokenizer type: Riddle"],
  ])("refuses %s", (_name, change, message) => {
    const files = tinyTokenizerFiles();
    const tokenizer = Object.keys(change).length > 0 ? { ...files.tokenizer, ...change } : {};
    expect(() => Tokenizer.load({ ...files, tokenizer })).toThrow(
      expect.objectContaining({ code: "tokenizer_json", message: expect.stringContaining(message) }),
    );
  });

  it("says which piece has no id where there is no unknown token", () => {
    const files = tinyTokenizerFiles();
    const model = { type: "WordLevel", vocab: { a: 0, b: 1 } };
    const split = { type: "WhitespaceSplit" };
    const tokenizer = Tokenizer.load({
      ...files,
      tokenizer: { model, pre_tokenizer: split, decoder: null, normalizer: null, post_processor: null },
    });
    expect(tokenizer.encode("a b")).toEqual([0, 1]);
    expect(() => tokenizer.encode("a c")).toThrow('tiny: no id for the piece "c".');
  });
});

describe("incremental decoding", () => {
  it("gives the full text for any ids, in pieces without broken characters", () => {
    const ids = fc.array(fc.integer({ min: 0, max: 280 }), { maxLength: 30 });
    fc.assert(
      fc.property(ids, fc.boolean(), (values, skipSpecial) => {
        const options = { skipSpecial };
        const parts = pieces(tiny, values, options);
        expect(parts.join("")).toBe(tiny.decode(values, options));
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(text, (value) => {
        const parts = pieces(tiny, tiny.encode(value));
        expect(parts.join("")).toBe(value);
        if (!value.includes("\ufffd")) expect(parts.filter((part) => part.includes("\ufffd"))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("holds back a character until its last byte, and says what was broken at the end", () => {
    const [a, b, c] = tiny.encode("你") as [number, number, number];
    expect(pieces(tiny, [a, b, c])).toEqual(["", "", "你", ""]);
    expect(pieces(tiny, [...tiny.encode("x"), a, b])).toEqual(["x", "", "", "\ufffd"]);
    expect(pieces(tiny, [a, ...tiny.encode("x")])).toEqual(["", "\ufffdx", ""]);
  });

  it("does not hold back more than one character of endless broken bytes", () => {
    const continuation = tiny.encode("é")[1] as number;
    const parts = pieces(
      tiny,
      Array.from({ length: 20 }, () => continuation),
    );
    expect(parts.slice(1, -1).every((part) => part === "\ufffd")).toBe(true);
  });
});

describe("tokenizers of the shared data", () => {
  const lossless = fc.string({ unit: "grapheme", maxLength: 30 });

  itShared(
    "stories260k: byte fallback, a prefix space, the token of the beginning",
    "assets/stories260k/hf",
    (path) => {
      const tokenizer = Tokenizer.load(sharedTokenizerFiles(path));
      expect(tokenizer.specialTokens).toMatchObject({ bos_token: "<s>", eos_token: "</s>", unk_token: "<unk>" });
      const golden = JSON.parse(readFileSync(join(path, "..", "golden.json"), "utf8")) as {
        prompts: { text: string; ids: number[]; greedy_48: number[]; greedy_text: string }[];
      };
      expect(golden.prompts.length).toBeGreaterThan(0);
      for (const prompt of golden.prompts) {
        expect(tokenizer.encode(prompt.text, { addSpecial: true })).toEqual(prompt.ids);
        const whole = tokenizer.decode([...prompt.ids, ...prompt.greedy_48], { skipSpecial: true });
        expect(whole).toContain(prompt.greedy_text);
      }
      fc.assert(
        fc.property(lossless, (value) => {
          fc.pre(!value.includes("▁"));
          const ids = tokenizer.encode(value, { addSpecial: true });
          expect(ids[0]).toBe(1);
          expect(tokenizer.decode(ids.slice(1))).toBe(value);
          expect(pieces(tokenizer, ids.slice(1)).join("")).toBe(value);
        }),
        { numRuns: 200 },
      );
      const said = tokenizer.encode(" dog");
      expect(tokenizer.decode(said)).toBe(" dog");
      const dog = tokenizer.encode("dog");
      expect(tokenizer.decode(dog)).toBe("dog");
      expect(tokenizer.decode(dog, { continuation: true })).toBe(" dog");
      expect(pieces(tokenizer, dog, { continuation: true }).join("")).toBe(" dog");
    },
  );

  itShared("calc: numbers in pieces of one or two digits, lossless", "bench/recipes/calc_tok.json", (path) => {
    const tokenizer = Tokenizer.load(sharedTokenizerFiles(path));
    const tokens = tokenizer.encode("<tool_call>12345").map((id) => tokenizer.decode([id]));
    expect(tokens).toEqual(["<tool_call>", "12", "34", "5"]);
    fc.assert(fc.property(text, (value) => void expect(tokenizer.decode(tokenizer.encode(value))).toBe(value)));
  });

  itShared("vault: whole words, unknown ones by their token", "bench/recipes/vault_tok.json", (path) => {
    const tokenizer = Tokenizer.load(sharedTokenizerFiles(path));
    expect(tokenizer.encode("zzzzz")).toEqual([tokenizer.idOf("[unk]")]);
  });

  itShared("guppy: characters outside its alphabet vanish, by its own rules", "assets/guppylm-chat", (path) => {
    const tokenizer = Tokenizer.load(sharedTokenizerFiles(path));
    expect(tokenizer.decode(tokenizer.encode("hi, guppy"))).toBe("hi guppy");
    expect(tokenizer.encode("<|im_start|>")).toEqual([1]);
    const plain = tokenizer.withAddedTokens(() => false);
    expect(plain("<|im_start|>", true)).not.toContain(1);
  });

  itShared("verl: characters, and a separator found by its form", "assets/verl-arithmetic-sequence", (path) => {
    const tokenizer = Tokenizer.load(sharedTokenizerFiles(path));
    expect(tokenizer.encode("0,9:")).toEqual([4, 14, 13, 15]);
    expect(tokenizer.specialTokens).toEqual({
      eos_token: "<eos>",
      pad_token: "<pad>",
      sep_token: "<sep>",
      unk_token: "<unk>",
    });
  });
});
