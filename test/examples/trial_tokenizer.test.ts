/** The trial model's tokenizer: lossless, short for what agents send, with tokens for turns and markup. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTokenizerFiles } from "../../src/io/tokenizer_folder.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";

const folder = new URL("../../examples/trial/model", import.meta.url).pathname;
const format = ChatFormat.load(await readTokenizerFiles(nodeFiles, folder));
const { tokenizer } = format;

describe("the trial tokenizer", () => {
  it("takes every text apart and puts it together again", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (text) => {
        const whole = text.toWellFormed();
        expect(tokenizer.decode(tokenizer.encode(whole))).toBe(whole);
      }),
    );
  });

  it("needs few tokens for English, code and JSON", () => {
    const text = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    for (const form of [text, JSON.stringify({ text })]) {
      expect(form.length / tokenizer.encode(form).length).toBeGreaterThan(2.5);
    }
  });

  it("ends turns, and has one token for each marker", () => {
    expect(format.stopIds).toEqual([tokenizer.idOf("<|im_end|>")]);
    for (const marker of ["<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>"]) {
      expect(tokenizer.encode(marker)).toEqual([tokenizer.idOf(marker)]);
    }
  });
});
