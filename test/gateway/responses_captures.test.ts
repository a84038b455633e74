/**
 * Responses requests of real programs, as captured. Each is played from its first turn: what it says the assistant
 * said is sampled, ids are put where the capture has the other server's, and every turn continues the one before.
 */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect } from "vitest";
import { createApp, type GatewayApp } from "../../gateway/app.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { itShared } from "../shared.ts";
import { tinyFormat } from "../text/formats.ts";
import { harnessTemplate } from "./harness_template.ts";
import { ScriptedEngine } from "./scripted_engine.ts";

type Json = Record<string, unknown>;

const codec = tinyFormat(harnessTemplate);
const engine = new ScriptedEngine(codec);
const store = new MemoryStore();
let app: GatewayApp;
beforeAll(() => {
  engine.contextLength = 10_000_000;
  const model = { engine, codec, tokenText: (id: number) => codec.tokenizer.decode([id]) };
  app = createApp({ store, model, clock: systemClock, entropy: systemEntropy });
});

function isReplyItem({ type, role }: Json): boolean {
  return role === "assistant" || type === "reasoning" || type === "function_call" || type === "item_reference";
}

/** The items of each reply, between what others said. */
function replies(input: readonly Json[]): { start: number; items: Json[] }[] {
  const found: { start: number; items: Json[] }[] = [];
  for (const [at, item] of input.entries()) {
    if (!isReplyItem(item)) continue;
    const last = found.at(-1);
    if (last && last.start + last.items.length === at) last.items.push(item);
    else found.push({ start: at, items: [item] });
  }
  return found;
}

/** An assistant item's text; a reference does not show it. */
function textOf({ content }: Json): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map(({ text }: Json) => text).join("") : "I will do it.";
}

/** Arguments that are no JSON are no call here; what a harness makes of them is found by the call's id. */
function validJson(text: unknown): string {
  try {
    return JSON.stringify(JSON.parse(String(text)));
  } catch {
    return "{}";
  }
}

/** What the model would have to sample to say these items. */
function sampledText(items: readonly Json[]): string {
  const parts = items.map((item) => {
    if (item.type === "reasoning" || String(item.id).startsWith("rs_")) return "<think>\nThinking.\n</think>\n\n";
    if (item.type !== "function_call") return textOf(item);
    return `\n<tool_call>\n{"name": ${JSON.stringify(item.name)}, "arguments": ${validJson(item.arguments)}}\n</tool_call>`;
  });
  return parts.join("");
}

async function send(id: string, body: Json): Promise<Json> {
  const init = { method: "POST", body: JSON.stringify(body) };
  const response = await app.request(`/r/${id}/0/train/v1/responses`, init);
  const text = await response.text();
  expect(response.status, `${id}: ${text}`).toBe(200);
  if (!body.stream) return JSON.parse(text) as Json;
  const last = text.trim().split("\n").at(-1) as string;
  return (JSON.parse(last.slice("data: ".length)) as { response: Json }).response;
}

/** The harness's way of sending reply items back, with the ids and the reasoning of the reply that was got. */
function sentBack(items: readonly Json[], response: Json): Json[] {
  const output = response.output as Json[];
  const calls = output.filter(({ type }) => type === "function_call");
  return items.map((item) => {
    if (item.type === "function_call") return { ...item, call_id: calls.shift()?.call_id };
    const isReasoning = item.type === "reasoning" || String(item.id).startsWith("rs_");
    const same = output.find(({ type }) => type === (isReasoning ? "reasoning" : "message"));
    if (item.type === "reasoning") return { ...same, content: null };
    return item.id === undefined ? item : { ...item, id: same?.id };
  });
}

function isWhole(body: Json): body is Json & { input: Json[] } {
  return Array.isArray(body.input) && body.previous_response_id === undefined;
}

/** A request that asks for a summary comes without the tools of the turns before it. */
function asksForSummary({ tools, input }: Json & { input: Json[] }): boolean {
  return !(tools as Json[] | undefined)?.length && input.some(({ type }) => type === "function_call");
}

async function play(id: string, body: Json & { input: Json[] }): Promise<void> {
  const exec = { type: "function", name: "exec_command", parameters: { type: "object" } };
  const tools = asksForSummary(body) ? [exec] : body.tools;
  const input = structuredClone(body.input);
  const callIds = new Map<unknown, unknown>();
  for (const { start, items } of replies(input)) {
    engine.texts.push(sampledText(items));
    const response = await send(id, { ...body, tools, input: input.slice(0, start) });
    const mapped = sentBack(items, response);
    for (const [at, item] of mapped.entries()) {
      callIds.set(items[at]?.call_id, item.call_id);
      input[start + at] = item;
    }
    for (const [at, item] of input.entries()) {
      if (item.type !== "function_call_output" || !callIds.has(item.call_id) || at < start) continue;
      input[at] = { ...item, call_id: callIds.get(item.call_id) };
    }
  }
  // The capture has filler for wording: what is asked for must be said anew.
  if (asksForSummary(body)) input.push({ role: "user", content: "CONTEXT CHECKPOINT COMPACTION" });
  await send(id, { ...body, input });
}

describe("captured requests of the Responses API", () => {
  itShared("continue turn by turn, by their exact tokens", "captures/index.json", async (index) => {
    const { captures } = JSON.parse(readFileSync(index, "utf8")) as { captures: { file: string; dialect: string }[] };
    const files = captures.filter(({ dialect }) => dialect === "responses").map(({ file }) => file);
    expect(files.length).toBeGreaterThan(50);
    let turns = 0;
    for (const file of files) {
      const { body } = JSON.parse(readFileSync(index.replace("index.json", file), "utf8")) as { body: Json };
      const rollout = [{ rollout_id: file, input: 1 }];
      await app.request("/api/rollouts", { method: "POST", body: JSON.stringify(rollout) });
      const id = encodeURIComponent(file);
      if (isWhole(body)) await play(id, body);
      else await send(id, { ...body, previous_response_id: undefined });
      const calls = await store.calls(file);
      for (const [at, call] of calls.entries()) {
        if (at === calls.length - 1 && isWhole(body) && asksForSummary(body)) {
          expect([call.parent, call.breakReason], file).toEqual([null, "compaction"]);
          continue;
        }
        const parent = calls[at - 1];
        expect([call.parent, call.breakReason], `${file}, turn ${at}`).toEqual([parent?.id ?? null, null]);
        const before = parent ? [...parent.tokens.promptIds, ...parent.tokens.replyIds] : [];
        expect([...call.tokens.promptIds.slice(0, call.prefixLength)], `${file}, turn ${at}`).toEqual(before);
      }
      turns += calls.length;
    }
    expect(turns).toBeGreaterThan(files.length);
  });
});
