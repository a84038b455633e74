import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ParsedToolCall, ToolDefinition } from "../../src/schema/chat.ts";
import { deepseekV3, deepseekV31 } from "../../src/text/deepseek.ts";
import { llamaJson } from "../../src/text/llama_json.ts";
import { mistral } from "../../src/text/mistral.ts";
import { pythonic } from "../../src/text/pythonic.ts";
import { qwen3Coder } from "../../src/text/qwen3_coder.ts";
import { react } from "../../src/text/react.ts";
import type { ToolCallFormat } from "../../src/text/tool_call_format.ts";
import { toolCallFormat, toolCallFormats } from "../../src/text/tool_call_formats.ts";

const weather: ToolDefinition = {
  type: "function",
  function: {
    name: "weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" }, on: { type: ["string", "null"] } },
    },
  },
};
const call = (name: string, args: string): ParsedToolCall => ({ name, arguments: args });

describe("calls as models write them", () => {
  it.each<[string, ToolCallFormat, string, string, ParsedToolCall[]]>([
    [
      "Qwen3-Coder",
      qwen3Coder,
      "I look.\n<tool_call>\n<function=weather>\n<parameter=city>\nOslo\nNorth\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>",
      "I look.",
      [call("weather", '{"city": "Oslo\\nNorth", "days": 2}')],
    ],
    [
      "Llama 3",
      llamaJson,
      '<|python_tag|>{"name": "weather", "parameters": {"city":  "Oslo"}}; {"name": "now", "parameters": {}}',
      "",
      [call("weather", '{"city":  "Oslo"}'), call("now", "{}")],
    ],
    [
      "Llama 4",
      pythonic,
      '[weather(city="Oslo", days=2, on=None), now(), f.g(a=[1, -2.5e3, \'x\\\'y\', {"k": True}])]',
      "",
      [
        call("weather", '{"city": "Oslo", "days": 2, "on": null}'),
        call("now", "{}"),
        call("f.g", '{"a": [1, -2.5e3, "x\'y", {"k": true}]}'),
      ],
    ],
    [
      "Mistral",
      mistral,
      'Well. [TOOL_CALLS][{"name": "weather", "arguments": {"city": "]"}, "id": "abcdefghi"}, {"name": "now", "arguments": {}}]',
      "Well.",
      [call("weather", '{"city": "]"}'), call("now", "{}")],
    ],
    [
      "Mistral, later",
      mistral,
      '[TOOL_CALLS]weather[ARGS]{"city": "Oslo"}[TOOL_CALLS]now[ARGS]{}',
      "",
      [call("weather", '{"city": "Oslo"}'), call("now", "{}")],
    ],
    [
      "DeepSeek V3",
      deepseekV3,
      'So.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{"city": "Oslo"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      "So.",
      [call("weather", '{"city": "Oslo"}'), call("now", "{}")],
    ],
    [
      "DeepSeek V3.1",
      deepseekV31,
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      "",
      [call("weather", '{"city": "Oslo"}')],
    ],
    [
      "plain text",
      react,
      'Thought: where?\nAction: weather\nAction Input: {"city": "Oslo"}\n',
      "Thought: where?",
      [call("weather", '{"city": "Oslo"}')],
    ],
  ])("%s", (_name, format, text, content, calls) => {
    expect(format.parse(text, [weather])).toEqual({ content, calls });
  });

  it.each<[string, ToolCallFormat, string]>([
    ["a parameter without end", qwen3Coder, "<tool_call><function=f><parameter=a>1</function></tool_call>"],
    ["a call without name", qwen3Coder, "<tool_call><function=></function></tool_call>"],
    [
      "text between parameters",
      qwen3Coder,
      "<tool_call><function=f>a<parameter=b>1</parameter></function></tool_call>",
    ],
    ["text after a call", llamaJson, '{"name": "f", "parameters": {}} and so'],
    ["parameters that are no object", llamaJson, '{"name": "f", "parameters": 3}'],
    ["cut JSON", llamaJson, '{"name": "f", "parameters": {"a": [1'],
    ["no name", llamaJson, '{"parameters": {}}'],
    ["JSON that is an answer", llamaJson, '{"city": "Oslo"}'],
    ["positional arguments", pythonic, "[f(1)]"],
    ["a name that is no call", pythonic, "[f]"],
    ["text after the list", pythonic, "[f()] so"],
    ["an unknown word", pythonic, "[f(a=maybe)]"],
    ["an open string", pythonic, '[f(a="x)]'],
    ["an empty list", mistral, "[TOOL_CALLS][]"],
    ["cut JSON in a list", mistral, '[TOOL_CALLS][{"name": "f", "arguments": {'],
    ["one call without arguments", mistral, '[TOOL_CALLS][{"name": "f"}]'],
    ["text after a list", mistral, '[TOOL_CALLS][{"name": "f", "arguments": {}}] so'],
    [
      "no separator",
      deepseekV31,
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ],
    ["no end of a call", deepseekV31, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}"],
    [
      "no fence",
      deepseekV3,
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n{}<｜tool▁call▁end｜>",
    ],
    ["an input that is no object", react, "Action: f\nAction Input: 2 + 2"],
    ["no input", react, "Action: f"],
  ])("with %s are text", (_name, format, text) => {
    expect(format.parse(text)).toEqual({ content: text, calls: [] });
  });
});

describe("every format", () => {
  const key = fc.stringMatching(/^[a-z_][a-z0-9_]{0,6}$/);
  // Surrounding newlines of a text are Qwen3-Coder's own, and its markers end a value.
  const value = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 12 }).filter((text) => !/^\n|\n$|<\/|\r/.test(text)),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.string({ maxLength: 4 }), { maxLength: 3 }),
    fc.dictionary(key, fc.oneof(fc.string({ maxLength: 5 }), fc.double({ noNaN: true, noDefaultInfinity: true }))),
  );
  const calls = fc.array(fc.record({ name: key, args: fc.dictionary(key, value, { maxKeys: 4 }) }), {
    minLength: 1,
    maxLength: 3,
  });

  it.each(toolCallFormats.map((format) => [format.name, format] as const))(
    "%s reads what it writes",
    (_name, format) => {
      fc.assert(
        fc.property(calls, (wanted) => {
          const tools = wanted.map(({ name, args }): ToolDefinition => {
            const properties = Object.fromEntries(
              Object.entries(args).map(([name, item]) => [
                name,
                { type: typeof item === "string" ? "string" : "object" },
              ]),
            );
            return { type: "function", function: { name, parameters: { type: "object", properties } } };
          });
          fc.pre(new Set(wanted.map(({ name }) => name)).size === wanted.length);
          const text = format.write(wanted.map(({ name, args }) => call(name, JSON.stringify(args))));
          const read = format.parse(text, tools);
          expect(read.content.trim()).toBe("");
          expect(read.calls.map(({ name, arguments: args }) => ({ name, args: JSON.parse(args) }))).toEqual(
            JSON.parse(JSON.stringify(wanted)),
          );
        }),
        { numRuns: 150 },
      );
    },
  );

  it.each(toolCallFormats.map((format) => [format.name, format] as const))(
    "%s leaves a reply cut anywhere as text or reads whole calls of it",
    (_name, format) => {
      const text = format.write([call("f", '{"a": "b c", "n": [1, {"m": null}]}'), call("g", "{}")]);
      const whole = format.parse(text).calls.map((found) => found.name);
      expect(whole).toEqual(["f", "g"]);
      for (let end = 0; end < text.length; end++) {
        const part = format.parse(text.slice(0, end));
        if (part.calls.length === 0) expect(part.content).toBe(text.slice(0, end));
        else expect(whole).toEqual(expect.arrayContaining(part.calls.map((found) => found.name)));
      }
    },
  );

  it.each(toolCallFormats.map((format) => [format.name, format] as const))(
    "%s never loses text that is no call",
    (_name, format) => {
      fc.assert(
        fc.property(fc.string({ unit: "grapheme" }), (text) => {
          fc.pre(!/^\s*[[{]/.test(text));
          expect(format.parse(text)).toEqual({ content: text, calls: [] });
        }),
        { numRuns: 100 },
      );
    },
  );

  it("is had by name", () => {
    expect(toolCallFormat("mistral")).toBe(mistral);
    expect(() => toolCallFormat("morse")).toThrow('No tool-call format is named "morse".');
  });
});

describe("types of Qwen3-Coder's arguments", () => {
  const parse = (text: string, tools?: ToolDefinition[]) =>
    qwen3Coder.parse(`<tool_call><function=weather><parameter=city>${text}</parameter></function></tool_call>`, tools)
      .calls[0]?.arguments;

  it.each([
    ["5", [weather], '{"city": "5"}'],
    ["5", undefined, '{"city": 5}'],
    ["True", undefined, '{"city": true}'],
    ["True", [weather], '{"city": "True"}'],
    ["a b", undefined, '{"city": "a b"}'],
  ])("%s", (text, tools, expected) => {
    expect(parse(text, tools)).toBe(expected);
  });
});
