import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hermes } from "../../src/text/hermes.ts";
import { jsonMemberText } from "../../src/text/json_member.ts";
import { parseReplyText } from "../../src/text/reply_parser.ts";
import { detectToolCallFormat, toolCallFormats } from "../../src/text/tool_call_formats.ts";

const parse = (text: string, opened = false) => parseReplyText(text, hermes, opened);
const call = (inner: string) => `<tool_call>\n${inner}\n</tool_call>`;
const text = (content: string) => ({ content, reasoningContent: null, toolCalls: [] });

describe("tool calls of Hermes and Qwen", () => {
  it("keep the arguments' text as sampled", () => {
    const args = '{"expression":  "2 + 2", "n": 1.0, "s": "h\\u00e9 }\\"{" }';
    expect(parse(call(`{"name": "calculator", "arguments": ${args}}`))).toEqual({
      content: null,
      reasoningContent: null,
      toolCalls: [{ name: "calculator", arguments: args }],
    });
  });

  it("may be several, with text before, between and after", () => {
    const first = call('{"name": "a", "arguments": {}}');
    const second = '<tool_call>{"arguments": {"x": [1]}, "name": "b"}</tool_call>';
    expect(parse(`I look. \n${first}\n${second}`)).toEqual({
      content: "I look. ",
      reasoningContent: null,
      toolCalls: [
        { name: "a", arguments: "{}" },
        { name: "b", arguments: '{"x": [1]}' },
      ],
    });
    expect(parse(`${first} then ${second}\nend`).content).toBe("then\nend");
  });

  it.each([
    ["bad JSON", call('{"name": "calculator", "arguments": {"expression": "1+1"}')],
    ["no arguments", call('{"name": "calculator", "expression": "1+1"}')],
    ["no name", call('{"arguments": {}}')],
    ["a name that is no text", call('{"name": 1, "arguments": {}}')],
    ["no object", call("calculator(1+1)")],
    ["a list", call('["name", "arguments"]')],
    ["null", call("null")],
    ["nothing", "<tool_call></tool_call>"],
    ["no end", '<tool_call>\n{"name": "a", "arguments": {}}'],
    ["a sound call beside a broken one", `${call('{"name": "a", "arguments": {}}')}\n${call("{")}`],
    ["a call inside a call", call(call('{"name": "a", "arguments": {}}'))],
  ])("with %s are text", (_name, reply) => {
    expect(parse(reply)).toEqual(text(reply));
  });

  it("are looked for where a template asks for them, and by default", () => {
    expect(detectToolCallFormat("... <tool_call> ...")?.name).toBe("hermes");
    expect(detectToolCallFormat("")).toBeNull();
    expect(new Set(toolCallFormats.map((format) => format.name)).size).toBe(toolCallFormats.length);
  });
});

describe("thinking", () => {
  const answer = (reasoningContent: string | null, content: string | null) => ({
    content,
    reasoningContent,
    toolCalls: [],
  });

  it.each<[string, string, boolean, ReturnType<typeof answer>]>([
    ["stands before the answer", "<think>\nhm\n\nso\n</think>\n\nyes", false, answer("hm\n\nso", "yes")],
    ["may follow white space", "\n <think>hm</think>yes", false, answer("hm", "yes")],
    ["is begun by the prompt", "hm\n</think>\n\nyes", true, answer("hm", "yes")],
    ["may never end", "<think>\nhm", false, answer("hm", null)],
    ["may never end where the prompt began it", "hm", true, answer("hm", null)],
    ["may be empty", "<think>\n\n</think>\n\nyes", false, answer(null, "yes")],
    ["keeps its own spaces", "<think>\n hm \n</think>\n\n yes \n", false, answer(" hm ", " yes \n")],
    ["is text later in the answer", "yes <think>hm</think>", false, answer(null, "yes <think>hm</think>")],
    ["is not ended without a beginning", "a</think>b", false, answer(null, "a</think>b")],
    ["ends once", "<think>a</think>b</think>c", false, answer("a", "b</think>c")],
  ])("%s", (_name, reply, opened, expected) => {
    expect(parse(reply, opened)).toEqual(expected);
  });

  it("goes before tool calls, and holds none", () => {
    const inside = call('{"name": "a", "arguments": {}}');
    expect(parse(`<think>\n${inside}\n</think>\n\n${call('{"name": "b", "arguments": {}}')}`)).toEqual({
      content: null,
      reasoningContent: inside,
      toolCalls: [{ name: "b", arguments: "{}" }],
    });
  });

  it("is absent from an empty reply", () => {
    expect(parse("")).toEqual(text(""));
  });
});

describe("text of a JSON member", () => {
  it("is what the value was written as", () => {
    const json = fc.json({ maxDepth: 4 });
    fc.assert(
      fc.property(json, json, fc.string(), (wanted, other, key) => {
        fc.pre(key !== "arguments");
        const source = ` { ${JSON.stringify(key)} : ${other} ,"arguments":${wanted}\n, "z":${other}}`;
        expect(jsonMemberText(source, "arguments")).toBe(wanted.trim());
      }),
      { numRuns: 500 },
    );
  });

  it("is the last of a repeated key, and null for a missing one", () => {
    expect(jsonMemberText('{"a":1,"b":{"a":2},"a":[3]}', "a")).toBe("[3]");
    expect(jsonMemberText('{"b":{"a":2}}', "a")).toBeNull();
    expect(jsonMemberText("{}", "a")).toBeNull();
    expect(jsonMemberText('{"\\u0061":5}', "a")).toBe("5");
  });
});
