/** The calc model's folder: made by its script, and its template and tokens exactly the texts that the traces teach. */
import { readFileSync } from "node:fs";
import { Template } from "@huggingface/jinja";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { trainBpe } from "../../examples/calc/bpe.ts";
import {
  prefixText,
  questionText,
  resultText,
  segments,
  sftRow,
  systemText,
  tool,
} from "../../examples/calc/conversation.ts";
import { clean, noisy } from "../../examples/calc/sft.ts";
import { modelFiles, specialTokens } from "../../examples/calc/tokenizer.ts";
import { type Trace, traceAt } from "../../examples/calc/traces.ts";
import type { ChatMessage, ChatRequest, RecordedCall } from "../../src/schema/chat.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { Tokenizer } from "../../src/text/tokenizer.ts";

const folder = new URL("../../examples/calc/model/", import.meta.url);
const readJson = (name: string) => JSON.parse(readFileSync(new URL(name, folder), "utf8"));
const files = {
  name: "examples/calc/model",
  tokenizer: readJson("tokenizer.json"),
  tokenizerConfig: readJson("tokenizer_config.json"),
  specialTokensMap: null,
  generationConfig: null,
  modelConfig: readJson("config.json"),
  chatTemplates: {},
};
const tokenizer = Tokenizer.load(files);
const format = ChatFormat.load(files);
const template = new Template(files.tokenizerConfig.chat_template);
const encode = (text: string) => tokenizer.encode(text);
const tools = [tool] as unknown as ChatRequest["tools"];

/** The requests an agent sends in the course of a trace, each with the text of the reply it then got. */
function requestsOf(trace: Trace): { request: ChatRequest; reply: string; message: ChatMessage }[] {
  const messages: ChatMessage[] = [
    { role: "system", content: systemText },
    { role: "user", content: trace.problem.question },
  ];
  return trace.turns.map(({ text, result }, i) => {
    const request = { messages: [...messages], tools };
    const parsed = format.parseReply(encode(text));
    const calls = parsed.toolCalls.map((call, n) => ({
      id: `call_${i}_${n}`,
      type: "function" as const,
      function: call,
    }));
    const message: ChatMessage = {
      role: "assistant",
      content: parsed.content,
      ...(calls.length && { tool_calls: calls }),
    };
    messages.push(message);
    if (result !== null) messages.push({ role: "tool", tool_call_id: `call_${i}_0`, content: result });
    return { request, reply: `${text}<|im_end|>`, message };
  });
}

describe("calc model folder", () => {
  it("is what its script writes", () => {
    for (const [name, text] of Object.entries(modelFiles())) {
      expect(readFileSync(new URL(name, folder), "utf8") === text, name).toBe(true);
    }
  });

  it("has 640 learned tokens, 9 special ones, and an embedding of 656 rows", () => {
    expect(Object.keys(files.tokenizer.model.vocab)).toHaveLength(640);
    expect(tokenizer.addedTokens.map(({ content }) => content)).toEqual(specialTokens);
    expect(tokenizer.addedTokens.map(({ id }) => id)).toEqual([640, 641, 642, 643, 644, 645, 646, 647, 648]);
    expect(files.modelConfig).toMatchObject({ vocab_size: 656, eos_token_id: 642, pad_token_id: 640 });
    expect(format.stopIds).toEqual([642]);
  });

  it("writes every operand as one token, and longer numbers in pieces of two digits", () => {
    for (let n = 11; n <= 99; n++) expect(encode(String(n))).toHaveLength(1);
    expect(encode("12345").map((id) => tokenizer.decode([id]))).toEqual(["12", "34", "5"]);
  });

  it("round-trips any text, and keeps specials whole", () => {
    for (const text of ["", "Ann's 7 eggs — 日本語 🙂\r\n\t x  y ", "naïve <b>&amp;</b> \u0000\u007f"]) {
      expect(tokenizer.decode(encode(text))).toBe(text);
    }
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(tokenizer.decode(encode(text))).toBe(text);
      }),
    );
    expect(encode(specialTokens.join(""))).toHaveLength(specialTokens.length);
  });
});

describe("calc chat template", () => {
  it("renders the prefix, the question, calls, results and answers as the traces have them", () => {
    expect(encode(prefixText)).toHaveLength(65);
    for (let i = 0; i < 300; i++) {
      const trace = traceAt("noisy", 5, i);
      let conversation = "";
      const pieces = segments(trace).map(({ text }) => text);
      for (const { request, reply } of requestsOf(trace)) {
        conversation += pieces.shift() ?? "";
        const rendered = template.render({ ...request, add_generation_prompt: true });
        // A reply that does not parse as a call is its own text again; one that does is written in the same form.
        expect(rendered).toBe(conversation);
        conversation += pieces.shift() ?? "";
        expect(conversation.endsWith(reply)).toBe(true);
      }
    }
  });

  it("lets each prompt begin with the one before and its reply, token for token", () => {
    for (let i = 0; i < 200; i++) {
      const trace = traceAt("noisy", 6, i);
      const row = sftRow(trace, encode);
      const recorded: RecordedCall[] = [];
      let prompt: Int32Array = new Int32Array();
      for (const { request, reply, message } of requestsOf(trace)) {
        const encoded = format.encodeRequest(request, recorded);
        expect(encoded.break).toBeNull();
        prompt = encoded.ids;
        expect(row.ids.slice(0, prompt.length)).toEqual(prompt);
        const replyIds = encode(reply);
        expect([...row.mask.slice(prompt.length, prompt.length + replyIds.length)]).toEqual(replyIds.map(() => 1));
        recorded.push({ id: `c${recorded.length}`, request, reply: message, promptIds: prompt, replyIds });
      }
      expect(row.ids).toHaveLength(prompt.length + (recorded.at(-1)?.replyIds.length ?? 0));
    }
  });

  it("renders without tools, without a system text, and with a text beside a call", () => {
    const render = (request: ChatRequest) => template.render({ ...request });
    expect(render({ messages: [{ role: "user", content: "hi" }] })).toBe("<|im_start|>user\nhi<|im_end|>\n");
    expect(render({ messages: [{ role: "system", content: "s" }] })).toBe("<|im_start|>system\ns<|im_end|>\n");
    const call = { id: "1", type: "function" as const, function: { name: "f", arguments: '{"a": 1}' } };
    const messages: ChatMessage[] = [
      { role: "assistant", content: "so:", tool_calls: [call, call] },
      { role: "tool", tool_call_id: "1", content: "2" },
      { role: "assistant", content: null },
    ];
    const callText = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>';
    expect(render({ messages })).toBe(
      `<|im_start|>assistant\nso:\n${callText}\n${callText}<|im_end|>\n` +
        "<|im_start|>user\n<tool_response>\n2\n</tool_response><|im_end|>\n<|im_start|>assistant\n<|im_end|>\n",
    );
    expect(questionText("q") + resultText("5")).toBe(
      "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n" +
        "\n<|im_start|>user\n<tool_response>\n5\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    );
  });
});

describe("calc training rows", () => {
  it("have the length and the sampled share of the recipe", () => {
    const rows = Array.from({ length: 500 }, (_, i) => noisy({ encode, seed: 1 }).example(i));
    const mean = (of: (row: (typeof rows)[number]) => number) =>
      rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
    expect(mean((row) => row.ids.length)).toBeGreaterThan(132);
    expect(mean((row) => row.ids.length)).toBeLessThan(145);
    expect(mean((row) => row.mask.reduce((a, b) => a + b, 0))).toBeGreaterThan(29);
    expect(mean((row) => row.mask.reduce((a, b) => a + b, 0))).toBeLessThan(36);
  });

  it("encode piece by piece what the whole text encodes to, and end with the stop token", () => {
    const rows = clean({ encode, seed: 1 });
    expect(rows.size).toBe(6000);
    for (let i = 0; i < 100; i++) {
      const { ids, mask } = rows.example(i);
      const whole = segments(traceAt("clean", 1, i)).map(({ text }) => text);
      expect([...ids]).toEqual(encode(whole.join("")));
      expect(ids.at(-1)).toBe(642);
      expect(mask.at(-1)).toBe(1);
    }
  });
});

describe("trainBpe", () => {
  it("joins the most frequent pair first, of equal ones that with the smaller ids, and counts runs once", () => {
    const bpe = trainBpe(
      new Map([
        ["aab", 3],
        ["xy", 3],
        ["aaa", 1],
      ]),
      259,
    );
    // aa: 3 + 2 = 5; ab and xy: 3 each.
    expect(bpe.merges).toEqual([
      ["a", "a"],
      ["x", "y"],
      ["aa", "b"],
    ]);
    expect(bpe.vocab.slice(256)).toEqual(["aa", "xy", "aab"]);
  });

  it("stops when nothing is left to join", () => {
    expect(trainBpe(new Map([["ab", 1]]), 400).merges).toEqual([["a", "b"]]);
  });
});
