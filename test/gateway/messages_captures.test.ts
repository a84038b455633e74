/** Anthropic requests of real programs, as captured: all are answered, but threads. */
import { readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { createApp } from "../../gateway/app.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { chatmlTemplate } from "../../src/text/chatml.ts";
import { itShared } from "../shared.ts";
import { tinyFormat } from "../text/formats.ts";
import { messageEvents } from "./messages_client.ts";
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
});
