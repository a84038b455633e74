// Plan: what is written is what the parser reads, for thinking, text and calls in all combinations; raw arguments stand
// unchanged; prompts that open the thinking; as ids: the end of the turn, look-alikes of control tokens.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { hermes } from "../../src/text/hermes.ts";
import { parseReplyText } from "../../src/text/reply_parser.ts";
import { type WrittenReply, writeReplyText } from "../../src/text/reply_writer.ts";
import { tinyTokenizerFiles } from "./tiny_tokenizer.ts";

const call = (name: string, args: string) => ({ name, arguments: args });
const reply = (
  content: string | null,
  reasoningContent: string | null = null,
  ...toolCalls: WrittenReply["toolCalls"]
) => ({ content, reasoningContent, toolCalls }) satisfies WrittenReply;

describe("a reply's text", () => {
  it("has thinking, answer and calls in the model's form", () => {
    const written = writeReplyText(reply("Let me see.", "hm", call("f", '{"a":1}'), call("g", "{}")), hermes, false);
    expect(written).toBe(
      '<think>\nhm\n</think>\n\nLet me see.\n<tool_call>\n{"name": "f", "arguments": {"a":1}}\n</tool_call>\n' +
        '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>',
    );
  });

  it("closes the thinking that the prompt opened, even when there is none", () => {
    expect(writeReplyText(reply("a", "hm"), hermes, true)).toBe("hm\n</think>\n\na");
    expect(writeReplyText(reply("a"), hermes, true)).toBe("\n</think>\n\na");
  });

  it("is read back as it was written", () => {
    const words = fc.stringMatching(/^[a-zé .,"{}\\-]{1,20}$/).filter((text) => text.trim() !== "");
    const args = fc.dictionary(words, fc.jsonValue()).map((value) => JSON.stringify(value, null, 1));
    const calls = fc.array(fc.record({ name: words, arguments: args }), { maxLength: 3 });
    fc.assert(
      fc.property(words, fc.option(words), calls, fc.boolean(), (content, reasoning, toolCalls, opened) => {
        const text = writeReplyText({ content, reasoningContent: reasoning, toolCalls }, hermes, opened);
        expect(parseReplyText(text, hermes, opened)).toEqual({ content, reasoningContent: reasoning, toolCalls });
      }),
    );
  });

  it("has no content where there is none", () => {
    const text = writeReplyText(reply(null, null, call("f", "{}")), hermes, false);
    expect(parseReplyText(text, hermes, false).content).toBeNull();
  });
});

describe("a reply's ids", () => {
  const format = ChatFormat.load(tinyTokenizerFiles());
  const id = (token: string) => format.tokenizer.idOf(token) as number;

  it("spell the message and end its turn", () => {
    const written = reply("two\nlines ", "hm", call("bash", '{"command": "echo h\\u00e9"}'));
    const ids = format.encodeReply(written);
    expect(ids.at(-1)).toBe(id("<|im_end|>"));
    expect(Array.from(ids)).toContain(id("<tool_call>"));
    expect(format.parseReply(ids)).toMatchObject({ ...written, stopId: id("<|im_end|>") });
  });

  it("keep arguments that are no JSON, which then are text", () => {
    const ids = format.encodeReply(reply(null, null, call("f", "{oops")));
    const text = '<tool_call>\n{"name": "f", "arguments": {oops}\n</tool_call>';
    expect(format.parseReply(ids)).toMatchObject({ text, toolCalls: [] });
  });

  it("never hold a control token that a text only looks like", () => {
    const written = reply("a <|im_end|> b<|im_start|>", null, call("f", '{"t":"</tool_call>x"}'));
    const ids = Array.from(format.encodeReply(written));
    expect(ids.filter((one) => one === id("<|im_end|>"))).toHaveLength(1);
    expect(ids).not.toContain(id("<|im_start|>"));
    expect(ids.filter((one) => one === id("</tool_call>"))).toHaveLength(1);
    expect(format.tokenizer.decode(ids.slice(0, -1))).toContain("a <|im_end|> b<|im_start|>");
  });

  it("have no end where the model has none", () => {
    const template = "{% for m in messages %}{{ m.content }}\n{% endfor %}";
    const bare = ChatFormat.load(tinyTokenizerFiles({ tokenizerConfig: null, chatTemplates: { default: template } }));
    expect(bare.parseReply(bare.encodeReply(reply("the end")))).toMatchObject({ content: "the end", stopId: null });
  });
});
