/**
 * Anthropic conversations with a real tokenizer and chat template. Plan: what harnesses change on the way back and what
 * the conversation survives (cache marks, texts or blocks, order of results, thinking left out, trimmed text known by
 * its signature, malformed arguments, restarts), and what breaks it.
 */
import { beforeEach, describe, expect, it } from "vitest";
import type { CallRecord } from "../../src/schema/store.ts";
import { chatmlTemplate } from "../../src/text/chatml.ts";
import { tinyFormat } from "../text/formats.ts";
import { AppClient } from "./app_client.ts";
import { askMessages, type Message } from "./messages_client.ts";
import { ScriptedEngine } from "./scripted_engine.ts";

type Json = Record<string, unknown>;

const engine = new ScriptedEngine(tinyFormat(chatmlTemplate));
let client: AppClient;
beforeEach(async () => {
  engine.texts.length = 0;
  client = new AppClient({}, { model: engine.model });
  await client.create("r");
});

const cache_control = { type: "ephemeral" };
const tools = [{ name: "calc", input_schema: { type: "object" } }];
const question = { role: "user", content: "What is 2 + 3?" };
const call = (e: string) => `<tool_call>\n{"name": "calc", "arguments": {"e":  "${e}"}}\n</tool_call>`;
const ask = (messages: Json[], more: Json = {}) =>
  askMessages(client, { messages, tools, system: "Be exact.", ...more });
const said = ({ content }: Message) => ({ role: "assistant", content });
const result = (id: string | undefined, content: unknown) => ({ type: "tool_result", tool_use_id: id, content });

async function expectContinued(): Promise<CallRecord> {
  const [first, second] = await client.calls("r");
  if (!first || !second) throw new Error("a call is missing");
  const ids = [...first.tokens.promptIds, ...first.tokens.replyIds];
  expect([second.parent, second.breakReason]).toEqual([first.id, null]);
  expect([...second.tokens.promptIds].slice(0, second.prefixLength)).toEqual(ids);
  return second;
}

const addedText = ({ tokens, prefixLength }: CallRecord) => engine.decode(tokens.promptIds.slice(prefixLength));

describe("a conversation is continued by its sampled tokens", () => {
  it("when cache marks move and texts become blocks", async () => {
    engine.texts.push(`so\n${call("2+3")}`);
    const reply = await ask([{ role: "user", content: [{ type: "text", text: question.content, cache_control }] }]);
    const content = reply.content.map((block) => ({ ...block, cache_control }));
    const answer = { ...result(reply.content[1]?.id, [{ type: "text", text: "5", cache_control }]), is_error: false };
    await ask([question, { role: "assistant", content }, { role: "user", content: [answer] }], {
      system: [{ type: "text", text: "Be exact.", cache_control }],
      tools: tools.map((tool) => ({ ...tool, cache_control })),
    });
    expect(addedText(await expectContinued())).toBe(
      "\n<|im_start|>user\n<tool_response>\n5\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    );
  });

  it("when results come in another order, with text after them and more system text", async () => {
    engine.texts.push(`${call("1")}\n${call("2")}`);
    const reply = await ask([question]);
    const [a, b] = reply.content.map(({ id }) => id);
    const results = [result(b, "B"), result(a, "A"), { type: "text", text: "go on" }];
    await ask([question, said(reply), { role: "user", content: results }, { role: "system", content: "Soon." }]);
    expect(addedText(await expectContinued())).toBe(
      "\n<|im_start|>user\n<tool_response>\nB\n</tool_response>\n<tool_response>\nA\n</tool_response><|im_end|>\n" +
        "<|im_start|>user\ngo on<|im_end|>\n<|im_start|>system\nSoon.<|im_end|>\n<|im_start|>assistant\n",
    );
  });

  it("when its text is trimmed, known by the signature of its thinking", async () => {
    engine.texts.push("<think>\nhm\n</think>\n\nIt is:  five");
    const reply = await ask([question]);
    const [thinking] = reply.content;
    const trimmed = { role: "assistant", content: [thinking, { type: "text", text: "It is: five" }] };
    await ask([question, trimmed, { role: "user", content: "Sure?" }]);
    await expectContinued();
  });

  it("when the thinking is left out", async () => {
    engine.texts.push("<think>\nhm\n</think>\n\nIt is 5.");
    const reply = await ask([question]);
    await ask([question, { role: "assistant", content: reply.content.slice(1) }, { role: "user", content: "Sure?" }]);
    await expectContinued();
  });

  it("when its arguments are no object, whatever the harness made of them", async () => {
    engine.texts.push('<tool_call>\n{"name": "calc", "arguments": "2+3"}\n</tool_call>');
    const reply = await ask([question]);
    expect(reply.content).toMatchObject([{ type: "tool_use", input: {}, partial_json: '"2+3"' }]);
    const [use] = reply.content;
    const unparsed = { type: "tool_use", id: use?.id, name: "calc", input: { __unparsedToolInput: { raw: "2+3" } } };
    await ask([
      question,
      { role: "assistant", content: [unparsed] },
      { role: "user", content: [result(use?.id, "5")] },
    ]);
    await expectContinued();
  });

  it("after a restart of the gateway", async () => {
    engine.texts.push(`<think>\nhm\n</think>\n\n${call("2+3")}`);
    const reply = await ask([question], { tool_choice: { type: "any" }, thinking: { type: "enabled" } });
    client = new AppClient({}, { model: engine.model, store: client.store });
    await ask([question, said(reply), { role: "user", content: [result(reply.content[1]?.id, "5")] }]);
    await expectContinued();
  });
});

describe("a conversation is broken", () => {
  it("by another server's signature over another text", async () => {
    engine.texts.push("<think>\nhm\n</think>\n\nIt is 5.");
    await ask([question]);
    for (const signature of ["", "SIGT", btoa("leyden:another")]) {
      const content = [
        { type: "thinking", thinking: "hm", signature },
        { type: "text", text: "It is 6." },
      ];
      await ask([question, { role: "assistant", content }, { role: "user", content: "Sure?" }]);
    }
    const [, ...others] = await client.calls("r");
    expect(others[0]).toMatchObject({ parent: null, breakReason: "edited" });
    expect(others).toHaveLength(3);
  });

  it("by a reply that the harness got only in part", async () => {
    engine.texts.push("It is five.");
    await ask([question]);
    const partial = { role: "assistant", content: [{ type: "text", text: "It is" }] };
    await ask([question, partial, { role: "user", content: "Resume." }]);
    const [, second] = await client.calls("r");
    expect([second?.parent, second?.breakReason]).toEqual([null, "edited"]);
  });
});
