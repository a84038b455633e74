import { describe, expect, it } from "vitest";
import { xgrammar } from "../../src/app/load_xgrammar.ts";
import type { ConstraintSpec, TokenConstraint } from "../../src/schema/token_constraint.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { GrammarConstraints } from "../../src/text/grammar/grammar_constraints.ts";
import { toolCallFormats } from "../../src/text/tool_call_formats.ts";
import { allowed, constraints, draw, format, stop, vocabSize } from "./grammar_draws.ts";
import { tinyTokenizerFiles } from "./tiny_tokenizer.ts";

const city = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" }, unit: { enum: ["c", "f"] } },
  required: ["city"],
  additionalProperties: false,
};
const tools = [
  { name: "weather", parameters: city },
  { name: "now", parameters: { type: "object", properties: {} } },
];

function checkCity(value: unknown): void {
  const { city: name, days, unit, ...others } = value as Record<string, unknown>;
  expect(typeof name).toBe("string");
  if (days !== undefined) expect(Number.isInteger(days)).toBe(true);
  if (unit !== undefined) expect(["c", "f"]).toContain(unit);
  expect(others).toEqual({});
}

describe("replies under a constraint", () => {
  it("match a JSON schema, whatever is drawn", async () => {
    for (let seed = 0; seed < 12; seed++) {
      checkCity(JSON.parse(await draw(constraints, { kind: "json_schema", schema: city }, seed)));
    }
  });

  it("have no run of white space between their parts", async () => {
    const constraint = await constraints.compile({ kind: "json_schema", schema: city });
    for (const id of format.tokenizer.encode("{ ")) await constraint.accept(id);
    expect((await allowed(constraint)).map((id) => format.tokenizer.decode([id]))).toEqual(['"']);
    constraint.dispose();
  });

  it("are JSON objects", async () => {
    for (let seed = 0; seed < 6; seed++) {
      const value: unknown = JSON.parse(await draw(constraints, { kind: "json_object" }, seed));
      expect(typeof value === "object" && value !== null && !Array.isArray(value)).toBe(true);
    }
  });

  it("match a grammar", async () => {
    const spec: ConstraintSpec = { kind: "grammar", grammar: 'root ::= "hello" ("!" | "?")+' };
    expect(await draw(constraints, spec, 1)).toMatch(/^hello[!?]+$/);
  });

  it("come after the thinking", async () => {
    const spec: ConstraintSpec = {
      kind: "after_thinking",
      end: "</think>",
      answer: { kind: "json_schema", schema: city },
    };
    const constraint = await constraints.compile(spec);
    for (const id of format.tokenizer.encode("hm {")) await constraint.accept(id);
    expect((await allowed(constraint)).length).toBeGreaterThan(200);
    for (const id of format.tokenizer.encode("</think>\n\n{")) await constraint.accept(id);
    expect((await allowed(constraint)).map((id) => format.tokenizer.decode([id])).join("")).toContain('"');
    expect(await allowed(constraint)).not.toContain(format.tokenizer.encode("x")[0]);
    constraint.dispose();
  });

  it("spell no special token, and have no place for what does not fit", async () => {
    const constraint = await constraints.compile({ kind: "json_object" });
    await constraint.accept(format.tokenizer.encode("{")[0] as number);
    await constraint.accept(format.tokenizer.encode('"')[0] as number);
    const special = format.tokenizer.addedTokens.filter((token) => token.special).map((token) => token.id);
    expect(special.length).toBeGreaterThan(0);
    expect((await allowed(constraint)).filter((id) => special.includes(id))).toEqual([]);
    await constraint.accept(special[0] as number);
    expect(await allowed(constraint)).toEqual([]);
    constraint.dispose();
  });
});

describe("tool calls under a constraint", () => {
  const spec = (required: boolean, parallel: boolean): ConstraintSpec => ({
    kind: "tool_calls",
    tools,
    required,
    parallel,
  });

  it.each(toolCallFormats.map((known) => [known.name, known] as const))(
    "are well formed in %s",
    async (name, known) => {
      const template = `{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}{# ${templateHint[name]} #}`;
      const own = tinyTokenizerFiles({ chatTemplates: { default: template } });
      expect(ChatFormat.load(own).template.toolCallFormat).toBe(known);
      const using = new GrammarConstraints(async () => own, vocabSize, xgrammar);
      const offered = tools.map((tool) => ({ type: "function" as const, function: tool }));
      for (let seed = 0; seed < 4; seed++) {
        const text = await draw(using, spec(true, false), seed);
        const { calls, content } = known.parse(text, offered);
        expect(content.trim(), text).toBe("");
        expect(calls.length, text).toBe(1);
        const [call] = calls;
        expect(["weather", "now"]).toContain(call?.name);
        const args: unknown = JSON.parse(call?.arguments ?? "");
        if (call?.name === "weather") checkCity(args);
        else expect(args).toEqual({});
      }
      for (const text of ["hi", "Once there was a call."]) await accepts(using, spec(false, true), text);
    },
  );

  it("may stand alone, once, many times or not at all", async () => {
    const one = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>';
    await accepts(constraints, spec(true, true), `${one}\n${one}`);
    await accepts(constraints, spec(false, true), `I look.\n${one}\n${one}`);
    await refuses(constraints, spec(true, false), one, `\n${one}`);
    await refuses(constraints, spec(false, false), `I look.\n${one}`, `\n${one}`);
    await refuses(constraints, spec(true, true), "", "I look.");
    await refuses(constraints, spec(false, true), '<tool_call>\n{"name": "', "later");
  });

  it("leave the form of other replies to a schema", async () => {
    const either: ConstraintSpec = {
      ...{ kind: "tool_calls", tools, required: false, parallel: true },
      text: { kind: "json_schema", schema: city },
    };
    await accepts(constraints, either, '{"city": "Oslo"}');
    await accepts(constraints, either, '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>');
    await refuses(constraints, either, "", "I");
  });

  async function feed(constraint: TokenConstraint, text: string): Promise<boolean> {
    for (const id of format.tokenizer.encode(text)) {
      if (!(await allowed(constraint)).includes(id)) return false;
      await constraint.accept(id);
    }
    return true;
  }

  async function accepts(using: GrammarConstraints, asked: ConstraintSpec, text: string): Promise<void> {
    const constraint = await using.compile(asked);
    expect(await feed(constraint, text), text).toBe(true);
    expect(await allowed(constraint)).toContain(stop);
    constraint.dispose();
  }

  async function refuses(using: GrammarConstraints, asked: ConstraintSpec, taken: string, next: string): Promise<void> {
    const constraint = await using.compile(asked);
    expect(await feed(constraint, taken), taken).toBe(true);
    expect(await feed(constraint, next), next).toBe(false);
    constraint.dispose();
  }
});

/** What in a template's source shows its format. */
const templateHint: Record<string, string> = {
  hermes: "<tool_call>",
  qwen3_coder: "<function= <parameter=",
  mistral: "[TOOL_CALLS]",
  deepseek_v3: "<｜tool▁sep｜> ```json",
  deepseek_v31: "<｜tool▁sep｜>",
  pythonic: "func_name1(",
  llama3_json: '<|start_header_id|> "parameters": ',
  react: "Action Input:",
};
