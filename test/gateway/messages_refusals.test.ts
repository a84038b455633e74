/** Refusals of Anthropic messages, in Anthropic's form. */
import { beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../../gateway/app.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { AppClient } from "./app_client.ts";

type Json = Record<string, unknown>;

let client: AppClient;
beforeEach(async () => {
  client = new AppClient();
  await client.create("r");
});

const path = "/r/r/0/train/v1/messages";
const messages = [{ role: "user", content: "hi" }];

async function refusal(body: unknown, at = path, key?: string): Promise<Json> {
  const response = await client.post(at, body, key);
  return { status: response.status, ...((await response.json()) as Json) };
}

const refused = (status: number, type: string, message: unknown, details: Json) => ({
  status,
  type: "error",
  error: { type, message, details },
});

describe("refusals", () => {
  it("name the field and what it should be", async () => {
    const cases: [Json, string, string][] = [
      [{}, "messages", "Missing required parameter: 'messages', a list of messages."],
      [{ messages: [] }, "messages", "Invalid 'messages': the list is empty. Send at least one message."],
      [
        { messages: [{ role: "tool" }] },
        "messages.0.role",
        `Invalid 'messages.0.role': expected "user", "assistant" or "system", got "tool".`,
      ],
      [
        { messages: [{ role: "user" }] },
        "messages.0.content",
        "Invalid 'messages.0.content': expected a text or a list of content blocks.",
      ],
      [
        { messages: [{ role: "user", content: ["x"] }] },
        "messages.0.content.0",
        "Invalid 'messages.0.content.0': expected a content block with a type.",
      ],
      [
        { messages: [{ role: "user", content: [{ type: "text" }] }] },
        "messages.0.content.0.text",
        `Invalid 'messages.0.content.0.text': a block of type "text" has a text there.`,
      ],
      [
        { messages: [...messages, { role: "assistant", content: "I" }] },
        "messages",
        "The conversation ends with an assistant message, and this model does not complete one. End it with a user message.",
      ],
      [{ messages, system: 1 }, "system", "Invalid 'system': expected a text or a list of content blocks."],
      [{ messages, max_tokens: 0 }, "max_tokens", "Invalid 'max_tokens': expected a number at least 1, got 0."],
      [
        { messages, stop_sequences: 1 },
        "stop_sequences",
        "Invalid 'stop_sequences': expected a text or a list of texts.",
      ],
      [{ messages, tools: {} }, "tools", "Invalid 'tools': expected a list of tools."],
    ];
    for (const [body, param, message] of cases) {
      const details = { error_code: "invalid_value", param };
      expect(await refusal(body), message).toEqual(refused(400, "invalid_request_error", message, details));
      expect(await refusal(body, `${path}/count_tokens`)).toEqual(await refusal(body));
    }
    for (const [tool, place] of [
      [{ input_schema: {} }, "tools.1.name"],
      [{ name: "f", input_schema: 1 }, "tools.1.input_schema"],
    ]) {
      expect(await refusal({ messages, tools: [{ type: "bash_20250124", name: "bash" }, tool] })).toMatchObject({
        error: { message: expect.stringContaining(`Invalid '${place}': `), details: { param: place } },
      });
    }
    expect(client.engine.requests).toEqual([]);
  });

  it("of message threads make clients send the whole conversation", async () => {
    for (const thread of [{ type: "create" }, { type: "continue", previous_message_id: "msg_1" }]) {
      expect(await refusal({ messages, thread })).toEqual(
        refused(
          400,
          "invalid_request_error",
          "This gateway keeps no message threads. Send the whole conversation without 'thread'.",
          { error_code: "thread_unsupported_request", param: "thread", unsupported: ["thread"] },
        ),
      );
    }
  });

  it("of a prompt that is too long have the words that clients know", async () => {
    client.engine.contextLength = 19;
    for (const stream of [false, true]) {
      expect(await refusal({ messages, stream })).toEqual(
        refused(400, "invalid_request_error", "prompt is too long: 19 tokens > 18 maximum", {
          error_code: "context_length_exceeded",
          param: "messages",
        }),
      );
    }
  });

  it("have the type of their status", async () => {
    expect(await refusal({ messages }, path, "wrong")).toEqual(
      refused(401, "authentication_error", "Invalid or missing API key", { error_code: "invalid_api_key" }),
    );
    expect(await refusal({ messages }, `${path}/count_tokens`, "wrong")).toMatchObject({ status: 401, type: "error" });
    const key = await client.app.issueKey("r", "1");
    expect(await refusal({ messages }, path, key)).toMatchObject({ status: 403, error: { type: "permission_error" } });
    expect(await refusal({ messages }, path.replace("/r/r/", "/r/x/"))).toMatchObject({
      status: 404,
      error: { type: "not_found_error", details: { error_code: "rollout_not_found" } },
    });
    client.engine.script = () => new TypeError("secret detail");
    expect(await refusal({ messages })).toEqual(
      refused(500, "api_error", "The gateway failed to answer this call.", { error_code: "internal" }),
    );
  });

  it("of a count come where there is no own model", async () => {
    const app = createApp({ store: new MemoryStore(), model: null, clock: systemClock, entropy: systemEntropy });
    const body = JSON.stringify({ messages });
    const response = await app.request("/v1/messages/count_tokens", { method: "POST", body });
    expect([response.status, await response.json()]).toMatchObject([404, { error: { type: "not_found_error" } }]);
  });
});

describe("a key", () => {
  it("may come as x-api-key", async () => {
    const headers = { authorization: "", "x-api-key": await client.app.issueKey("r", "0") };
    const response = await client.post("/v1/messages", { messages }, undefined, { headers });
    expect(response.status).toBe(200);
    expect(await client.calls("r")).toHaveLength(1);
  });
});
