import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GuardedEncoder } from "../../src/text/guarded_encoder.ts";
import { chooseMarks } from "../../src/text/marks.ts";
import { Tokenizer } from "../../src/text/tokenizer.ts";
import { itShared } from "../shared.ts";
import { sharedTokenizerFiles } from "./formats.ts";
import { tinyTokenizerFiles } from "./tiny_tokenizer.ts";

const mark = "\ufdd0";
const tiny = Tokenizer.load(tinyTokenizerFiles());
const encoder = new GuardedEncoder(tiny, ["template with <tool_call> </tool_call>"]);
const start = tiny.idOf("<|im_start|>") as number;
const end = tiny.idOf("<|im_end|>") as number;

/** A turn with a text between genuine tokens, encoded as a request would be. */
function turn(text: string, using = encoder): number[] {
  return using.encode(`<|im_start|>user\n${using.mark(text, mark)}<|im_end|>\n`, mark, null);
}

const controls = (ids: readonly number[]) => ids.filter((id) => id >= start - 1);

/** Texts made of pieces that tempt the encoder. */
const tempting = fc
  .array(
    fc.constantFrom(
      "<|im_end|>",
      "<|im_start|>",
      "<|im_",
      "start|>",
      "|>",
      "<",
      "<tool_call>",
      "</",
      "hello",
      " ",
      "\n",
      "é",
    ),
    { maxLength: 8 },
  )
  .map((pieces) => pieces.join(""));

describe("guarded encoding", () => {
  it("gives the ids of the whole string where no text spells a control token", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 30 }), (text) => {
        expect(turn(text)).toEqual(tiny.encode(`<|im_start|>user\n${text}<|im_end|>\n`));
      }),
      { numRuns: 300 },
    );
  });

  it("makes no control token of a text, and loses nothing of it", () => {
    fc.assert(
      fc.property(tempting, (text) => {
        const ids = turn(text);
        expect(controls(ids)).toEqual([start, end]);
        expect(tiny.decode(ids)).toBe(`<|im_start|>user\n${text}<|im_end|>\n`);
      }),
      { numRuns: 500 },
    );
  });

  it("does not let a text complete a token with its neighbours", () => {
    const joined = encoder.mark("<|im_end", mark) + encoder.mark("|>", mark);
    expect(controls(encoder.encode(`<|im_start|>${joined}<|im_end|>`, mark, null))).toEqual([start, end]);
    const halves = `<|im_start|><${encoder.mark("|im_end|>", mark)}<|im_end|>`;
    expect(controls(encoder.encode(halves, mark, null))).toEqual([start, end]);
    const completed = `<|im_start|>${encoder.mark("<|im_end", mark)}|><|im_end|>`;
    expect(controls(encoder.encode(completed, mark, null))).toEqual([start, end]);
  });

  it("leaves the rest of the string as it was around a look-alike", () => {
    const before = tiny.encode("<|im_start|>user\n");
    const ids = turn("x <|im_end|> y");
    expect(ids.slice(0, before.length - 2)).toEqual(before.slice(0, -2));
    const two = encoder.encode(
      `<|im_start|>a ${encoder.mark("<|im_end|>", mark)}<|im_end|>hello the<|im_end|>`,
      mark,
      null,
    );
    expect(two.slice(-4)).toEqual(tiny.encode("<|im_end|>hello the<|im_end|>"));
  });

  it("keeps added tokens that are no control tokens, even near look-alikes", () => {
    const think = tiny.idOf("<think>") as number;
    expect(turn("<think>")).toContain(think);
    expect(turn("<think><|im_end|>")).toContain(think);
    expect(controls(turn("<tool_call>"))).toEqual([start, end]);
    const strict = new GuardedEncoder(tiny, ["<think>"]);
    expect(turn("<think>", strict)).not.toContain(think);
  });

  it("continues after a token as if the whole string had been encoded", () => {
    const after = tiny.addedTokens.find((token) => token.id === end) ?? null;
    expect(encoder.encode("\n<|im_start|>user\n", mark, after)).toEqual(
      tiny.encode("<|im_end|>\n<|im_start|>user\n").slice(1),
    );
  });

  it("finds the template's own tokens", () => {
    const rendered = `${encoder.mark("a<|im_end|>", mark)}<tool_call>b<|im_end|>`;
    expect(encoder.findControl(rendered, mark, null)?.token.content).toBe("<tool_call>");
    const found = encoder.findControl(rendered, mark, new Set([end]));
    expect(found?.at).toBe(rendered.length - "<|im_end|>".length);
    expect(encoder.findControl("a", mark, null)).toBeNull();
  });

  it("respects tokens that swallow the white space beside them", () => {
    const files = tinyTokenizerFiles();
    const added = (files.tokenizer.added_tokens as { content: string }[]).map((token) => ({
      ...token,
      lstrip: token.content === "<|im_end|>",
      rstrip: token.content === "<|im_start|>",
    }));
    const tokenizer = Tokenizer.load({ ...files, tokenizer: { ...files.tokenizer, added_tokens: added } });
    const stripping = new GuardedEncoder(tokenizer, []);
    const strip = (text: string) =>
      stripping.encode(`<|im_start|> ${stripping.mark(text, mark)} <|im_end|>`, mark, null);
    expect(strip("hello")).toEqual(tokenizer.encode("<|im_start|>hello<|im_end|>"));
    expect(tokenizer.decode(strip("a<|im_end|>b"))).toBe("<|im_start|>a<|im_end|>b<|im_end|>");
  });

  it("writes no prefix space inside a string, where the tokenizer gives one to its beginning", () => {
    const letters = ["▁", "a", "b", "<", "x", ">"];
    const tokenizer = Tokenizer.load(
      tinyTokenizerFiles({
        tokenizer: {
          model: { type: "BPE", vocab: Object.fromEntries(letters.map((c, i) => [c, i])), merges: [] },
          added_tokens: [{ id: 6, content: "<x>", special: true }],
          pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "first", split: false },
          normalizer: null,
          post_processor: null,
          decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "first" },
        },
      }),
    );
    const guard = new GuardedEncoder(tokenizer, []);
    expect(guard.encode(guard.mark("a<x>", mark), mark, null)).toEqual([0, 1, 3, 4, 5]);
    expect(guard.encode(`<x>${guard.mark("a<x>", mark)}<x>b`, mark, null)).toEqual([6, 1, 3, 4, 5, 6, 2]);
    const token = tokenizer.addedTokens[0] ?? null;
    expect(guard.encode("ab", mark, token)).toEqual([1, 2]);
    expect(guard.encode(guard.mark("b<x>", mark), mark, token)).toEqual([2, 3, 4, 5]);
  });

  it("guards tokens that are matched in normalised text", () => {
    const files = tinyTokenizerFiles();
    const added = (files.tokenizer.added_tokens as { content: string }[]).map((token) => ({
      ...token,
      normalized: true,
    }));
    const tokenizer = Tokenizer.load({
      ...files,
      tokenizer: { ...files.tokenizer, added_tokens: added, normalizer: { type: "NFKC" } },
    });
    const wide = "＜|im_end|＞";
    expect(tokenizer.encode(wide)).toEqual([end]);
    const normalizing = new GuardedEncoder(tokenizer, []);
    expect(controls(normalizing.encode(normalizing.mark(wide, mark), mark, null))).toEqual([]);
  });

  itShared("holds for a tokenizer whose vocabulary itself has its control tokens", "assets/guppylm-chat", (path) => {
    const tokenizer = Tokenizer.load(sharedTokenizerFiles(path));
    const guard = new GuardedEncoder(tokenizer, []);
    const ids = guard.encode(`<|im_start|>${guard.mark("hi <|im_end|>", mark)}<|im_end|>`, mark, null);
    expect(ids.filter((id) => id <= 2)).toEqual([1, 2]);
  });

  it("never writes a control token even where the vocabulary has it as a word", () => {
    const model = { type: "WordLevel", vocab: { a: 0, "<x>": 1, "<": 2, "x>": 3, "[unk]": 4 }, unk_token: "[unk]" };
    const tokenizer = Tokenizer.load(
      tinyTokenizerFiles({
        tokenizer: {
          model,
          added_tokens: [{ id: 1, content: "<x>", special: true }],
          pre_tokenizer: { type: "WhitespaceSplit" },
          normalizer: null,
          post_processor: null,
          decoder: { type: "Fuse" },
        },
      }),
    );
    const guard = new GuardedEncoder(tokenizer, []);
    expect(guard.encode(guard.mark("a <x>", mark), mark, null)).toEqual([0, 2, 3]);
  });
});

describe("marks", () => {
  it("occur nowhere in the texts, not even as JSON escapes", () => {
    expect(chooseMarks([{ a: "x" }])).toEqual({ lookalike: "\ufdd0", number: "\ufdd1", place: "\ufdd2" });
    const used = chooseMarks([{ a: "\ufdd0", b: '{"x":"\\uFDD2"}' }]);
    expect(used).toEqual({ lookalike: "\ufdd1", number: "\ufdd3", place: "\ufdd4" });
  });

  it("run out with a typed error", () => {
    const all = Array.from({ length: 24 }, (_, i) => String.fromCharCode(0xfdd0 + i)).join("");
    expect(() => chooseMarks([all])).toThrow(expect.objectContaining({ code: "text_unencodable" }));
  });
});
