/**
 * Anthropic requests of real programs, as captured: all are answered, but threads; and each that holds a reply is
 * played with that reply sampled by the own model, and continues it by its exact tokens.
 */
import { readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { createApp } from "../../gateway/app.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { chatmlTemplate } from "../../src/text/chatml.ts";
import { itShared } from "../shared.ts";
import { tinyFormat } from "../text/formats.ts";
import { type Message, messageEvents } from "./messages_client.ts";
import { ScriptedEngine } from "./scripted_engine.ts";

type Json = Record<string, unknown>;
type Turn = { role: string; content: string | (Json & { type: string })[] };
type Body = Json & { messages: Turn[] };

interface Capture {
  file: string;
  dialect: string | null;
  path: string;
}

const store = new MemoryStore();
const engine = new ScriptedEngine(tinyFormat(chatmlTemplate));
engine.contextLength = 1_000_000;
const app = createApp({ store, model: engine.model, clock: systemClock, entropy: systemEntropy });

function readCaptures(index: string): (Capture & { body: Body })[] {
  const { captures } = JSON.parse(readFileSync(index, "utf8")) as { captures: Capture[] };
  return captures
    .filter(({ path }) => path.startsWith("/v1/messages"))
    .map((capture) => {
      const { body } = JSON.parse(readFileSync(index.replace("index.json", capture.file), "utf8")) as { body: Body };
      return { ...capture, body };
    });
}

async function create(id: string): Promise<void> {
  await app.request("/api/rollouts", { method: "POST", body: JSON.stringify([{ rollout_id: id, input: 1 }]) });
}

async function post(id: string, path: string, body: Json): Promise<{ status: number; text: string }> {
  const response = await app.request(`/r/${id}/0/train${path}`, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
}

/** What the model would sample to give this turn. */
function sampledText({ content }: Turn): string {
  if (typeof content === "string") return content;
  return content
    .map((block) => {
      if (block.type === "thinking") return `<think>\n${block.thinking}\n</think>\n\n`;
      if (block.type === "text") return block.text;
      const call = `{"name": ${JSON.stringify(block.name)}, "arguments": ${JSON.stringify(block.input)}}`;
      return `\n<tool_call>\n${call}\n</tool_call>`;
    })
    .join("");
}

/** The turn as the gateway's reply has it in place of the captured one, ids and signatures being its own. */
function withOwnIds(body: Body, turn: Turn, reply: Message): Body {
  const blocks = typeof turn.content === "string" ? [] : turn.content;
  const pairs = ["tool_use", "thinking"].flatMap((type) => {
    const key = type === "tool_use" ? "id" : "signature";
    const own = reply.content.filter((block) => block.type === type);
    return blocks.filter((block) => block.type === type).map((block, at) => [block[key], own[at]?.[key]]);
  });
  const text = pairs.reduce((now, [old, own]) => now.replaceAll(String(old), String(own)), JSON.stringify(body));
  return JSON.parse(text) as Body;
}

describe("captured requests of Anthropic's dialect", () => {
  itShared("are answered, but threads", "captures/index.json", async (index) => {
    const captures = readCaptures(index);
    expect(captures.length).toBeGreaterThan(20);
    for (const [at, { file, path, body }] of captures.entries()) {
      await create(`answered-${at}`);
      const { status, text } = await post(`answered-${at}`, path, body);
      if (body.thread) {
        const details = { error_code: "thread_unsupported_request", unsupported: ["thread"] };
        expect([status, JSON.parse(text)], file).toMatchObject([400, { error: { details } }]);
        continue;
      }
      expect(status, `${file}: ${text}`).toBe(200);
      if (path.includes("count_tokens")) expect(JSON.parse(text)).toEqual({ input_tokens: expect.any(Number) });
      else if (body.stream) expect(messageEvents(text).at(-1), file).toEqual({ type: "message_stop" });
      else expect(JSON.parse(text), file).toMatchObject({ type: "message", stop_reason: "end_turn" });
      const [call] = await store.calls(`answered-${at}`);
      if (call) expect([call.request.messages, call.request.tools], file).toEqual([body.messages, body.tools]);
    }
  });

  itShared("continue the reply they hold", "captures/index.json", async (index) => {
    const captures = readCaptures(index).filter(({ body }) => body.messages.some(({ role }) => role === "assistant"));
    expect(captures.length).toBeGreaterThan(10);
    for (const [at, { file, path, body }] of captures.entries()) {
      const id = `continued-${at}`;
      await create(id);
      const replyAt = body.messages.findLastIndex(({ role }) => role === "assistant");
      const turn = body.messages[replyAt] as Turn;
      engine.texts.push(sampledText(turn), "done");
      const before = { ...body, stream: false, messages: body.messages.slice(0, replyAt) };
      const first = await post(id, path, before);
      expect(first.status, `${file}: ${first.text}`).toBe(200);
      const second = await post(id, path, withOwnIds(body, turn, JSON.parse(first.text) as Message));
      expect(second.status, `${file}: ${second.text}`).toBe(200);
      const [parent, child] = await store.calls(id);
      expect([child?.parent, child?.breakReason], file).toEqual([parent?.id, null]);
      const ids = [...(parent?.tokens.promptIds ?? []), ...(parent?.tokens.replyIds ?? [])];
      expect([...(child?.tokens.promptIds.slice(0, ids.length) ?? [])], file).toEqual(ids);
    }
  });
});
