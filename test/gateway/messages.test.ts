/**
 * Anthropic messages of the own model. Plan: replies (text, tools, thinking, stops, lengths, usage), streams that say
 * the same, requests (system, blocks, results of tools, tool choice, what is ignored), counts, records.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { AppClient } from "./app_client.ts";
import { askMessages, messageEvents, postMessages } from "./messages_client.ts";

type Json = Record<string, unknown>;

let client: AppClient;
beforeEach(async () => {
  client = new AppClient();
  await client.create("r");
});

const user = (content: unknown, more: Json = {}) => ({
  max_tokens: 100,
  messages: [{ role: "user", content }],
  ...more,
});
const tools = [{ name: "add", description: "Adds.", input_schema: { type: "object" } }];
const ask = (body: Json) => askMessages(client, body);

/** The prompt that a request makes, as the fake model writes it. */
async function promptOf(body: Json): Promise<string> {
  let heard = "";
  client.engine.script = (_, prompt) => {
    heard = prompt;
    return "ok";
  };
  await ask(body);
  return heard;
}

describe("a reply", () => {
  it("is a message with usage", async () => {
    client.engine.script = (_, prompt) => `heard ${prompt}`;
    expect(await ask(user("hi", { model: "claude" }))).toEqual({
      id: expect.stringMatching(/^msg_[0-9a-f]{24}$/),
      type: "message",
      role: "assistant",
      model: "m",
      content: [{ type: "text", text: "heard [user]hi[assistant]" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: {
        input_tokens: 19,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 26,
      },
    });
  });

  it("counts what the cache held apart", async () => {
    const generate = client.engine.generate.bind(client.engine);
    client.engine.generate = async (request) => ({ ...(await generate(request)), cachedTokens: 7 });
    const { usage } = await ask(user("hi"));
    expect(usage).toMatchObject({ input_tokens: 12, cache_read_input_tokens: 7 });
  });

  it("has thinking and calls as blocks; the signature names the call", async () => {
    client.engine.script = () => '<think>well</think>first<call>add {"a": 1}</call><call>add {}</call>';
    const message = await ask(user("hi", { tools }));
    expect(message).toMatchObject({
      stop_reason: "tool_use",
      content: [
        { type: "thinking", thinking: "well" },
        { type: "text", text: "first" },
        { type: "tool_use", id: expect.stringMatching(/^toolu_[0-9a-f]{16}$/), name: "add", input: { a: 1 } },
        { type: "tool_use", id: expect.stringMatching(/^toolu_[0-9a-f]{16}$/), name: "add", input: {} },
      ],
    });
    expect(message.content[2]?.id).not.toBe(message.content[3]?.id);
    expect(atob(message.content[0]?.signature ?? "")).toBe(`leyden:${message.id.slice("msg_".length)}`);
    const [call] = await client.calls("r");
    expect(call).toMatchObject({ id: message.id.slice("msg_".length), dialect: "messages", finishReason: "tool_use" });
  });

  it("keeps arguments that are no object as they were sampled", async () => {
    client.engine.script = () => '<call>add {"a": </call>';
    expect((await ask(user("hi", { tools }))).content).toMatchObject([
      { type: "tool_use", name: "add", input: {}, partial_json: '{"a": ' },
    ]);
  });

  it("says what ended it", async () => {
    client.engine.script = () => "one STOP two";
    expect(await ask(user("hi", { stop_sequences: ["STOP"] }))).toMatchObject({
      content: [{ text: "one " }],
      stop_reason: "stop_sequence",
      stop_sequence: "STOP",
    });
    expect(await ask(user("hi", { max_tokens: 3 }))).toMatchObject({
      content: [{ text: "one" }],
      stop_reason: "max_tokens",
      stop_sequence: null,
    });
    client.engine.script = () => "";
    expect(await ask(user("hi"))).toMatchObject({ content: [], stop_reason: "end_turn" });
  });
});

describe("a stream", () => {
  it("says what the message says, event by event", async () => {
    client.engine.script = () => '<think>well</think>first<call>add {"a": 1}</call>';
    const response = await postMessages(client, user("hi", { tools, stream: true }));
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const usage = { input_tokens: expect.any(Number), cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const message = { type: "message", role: "assistant", model: "m", content: [], stop_reason: null };
    const delta = (index: number, value: Json) => ({ type: "content_block_delta", index, delta: value });
    expect(messageEvents(await response.text())).toEqual([
      {
        type: "message_start",
        message: {
          ...message,
          id: expect.stringMatching(/^msg_/),
          stop_sequence: null,
          usage: { ...usage, output_tokens: 0 },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
      delta(0, { type: "thinking_delta", thinking: "well" }),
      delta(0, { type: "signature_delta", signature: expect.stringMatching(/./) }),
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      delta(1, { type: "text_delta", text: "first" }),
      { type: "content_block_stop", index: 1 },
      {
        type: "content_block_start",
        index: 2,
        content_block: { type: "tool_use", id: expect.stringMatching(/^toolu_/), name: "add", input: {} },
      },
      delta(2, { type: "input_json_delta", partial_json: '{"a":1}' }),
      { type: "content_block_stop", index: 2 },
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use", stop_sequence: null },
        usage: { ...usage, output_tokens: 50 },
      },
      { type: "message_stop" },
    ]);
  });

  it("gives malformed arguments as they were sampled", async () => {
    client.engine.script = () => '<call>add {"a": </call>';
    const events = messageEvents(await (await postMessages(client, user("hi", { tools, stream: true }))).text());
    expect(events[1]).toEqual({
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", id: expect.any(String), name: "add", input: {} },
    });
    expect(events[2]).toMatchObject({ delta: { type: "input_json_delta", partial_json: '{"a": ' } });
  });

  it("of an empty reply ends all the same", async () => {
    client.engine.script = () => "";
    const text = await (await postMessages(client, user("hi", { stream: true }))).text();
    expect(messageEvents(text).map(({ type }) => type)).toEqual(["message_start", "message_delta", "message_stop"]);
  });
});

describe("a request", () => {
  it("has its system text first, as a text or as blocks, and more of it where it stands", async () => {
    const turns = [
      { role: "user", content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral" } }] },
      { role: "system", content: [{ type: "text", text: "date" }] },
    ];
    for (const system of ["be", [{ type: "text", text: "be", cache_control: { type: "ephemeral" } }]]) {
      expect(await promptOf({ system, messages: turns })).toBe("[system]be[user]hi[system]date[assistant]");
    }
    for (const system of ["", [], null]) {
      expect(await promptOf({ system, messages: turns })).toBe("[user]hi[system]date[assistant]");
    }
  });

  it("has results of tools as messages of their own, in their order, and the text around them", async () => {
    const prompt = await promptOf({
      tools: tools.map((tool) => ({ ...tool, defer_loading: true, cache_control: { type: "ephemeral" } })),
      messages: [
        { role: "user", content: "sum" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "another server's" },
            { type: "redacted_thinking", data: "x" },
            { type: "text", text: "two" },
            { type: "tool_use", id: "a", name: "add", input: { a: 1 } },
            { type: "tool_use", id: "b", name: "add", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "b", content: [{ type: "text", text: "B" }], is_error: true },
            { type: "tool_result", tool_use_id: "a" },
            { type: "text", text: "and" },
            { type: "text", text: "now" },
          ],
        },
      ],
    });
    expect(prompt).toBe(
      '{tools [{"type":"function","function":{"name":"add","description":"Adds.","parameters":{"type":"object"}}}]}' +
        '[user]sum[assistant]two<call>add {"a":1}</call><call>add {}</call>[tool]Error: B[tool][user]andnow[assistant]',
    );
  });

  it("may hold texts in documents, search results and references", async () => {
    const text = { type: "text", text: "c" };
    const content = [
      { type: "document", source: { type: "text", media_type: "text/plain", data: "a" } },
      { type: "document", source: { type: "content", content: [{ type: "text", text: "b" }] } },
      { type: "search_result", source: "s", title: "t", content: [text] },
      { type: "tool_result", tool_use_id: "x", content: [{ type: "tool_reference", tool_name: "d" }] },
    ];
    expect(await promptOf(user(content))).toBe("[user]abc[tool]d[assistant]");
  });

  it("without tools, or with tool_choice none, gets no calls", async () => {
    client.engine.script = (_, prompt) => (prompt.includes("{tools") ? "tools" : "<call>add {}</call>");
    const said = async (more: Json) => (await ask(user("hi", more))).content;
    const asText = [{ type: "text", text: "<call>add {}</call>" }];
    expect(await said({})).toEqual(asText);
    expect(await said({ tools, tool_choice: { type: "none" } })).toEqual(asText);
    expect(await said({ tools: [{ type: "web_search_20250305", name: "web_search" }] })).toEqual(asText);
    expect(await said({ tools, tool_choice: { type: "auto" } })).toEqual([{ type: "text", text: "tools" }]);
  });

  it("is recorded with what was not followed", async () => {
    const forced = { tool_choice: { type: "any" }, output_config: { effort: "high" }, top_k: 5, temperature: 0.5 };
    const thinking = { type: "enabled", budget_tokens: 1024 };
    await ask(user("hi", { tools, ...forced, thinking, context_management: {}, metadata: { user_id: "u" } }));
    await ask(user("hi", { tools, tool_choice: { type: "auto" }, thinking: { type: "adaptive" }, thread: null }));
    await ask(user("hi", { tools, tool_choice: { type: "auto", disable_parallel_tool_use: true } }));
    const [first, second, third] = await client.calls("r");
    expect(first?.overridden).toEqual({ ...forced, thinking });
    expect(first?.request).toMatchObject({ model: "m", temperature: 1, context_management: {}, tools });
    expect(first?.request).not.toHaveProperty("tool_choice");
    expect(second?.overridden).toEqual({});
    expect(third?.overridden).toEqual({ tool_choice: { type: "auto", disable_parallel_tool_use: true } });
  });
});

describe("what others read", () => {
  it("the tokens stand where Agent Lightning's trainer looks for them", async () => {
    await ask(user("hi"));
    const [event] = (await (await client.get("/api/rollouts/r/events?format=triplet")).json()) as { data: Json }[];
    expect(event?.data).toMatchObject({
      prompt_token_ids: expect.objectContaining({ length: 19 }),
      response_token_ids: [111, 107, 0],
      response_log_probs: [-0.125, -0.25, -0.375],
    });
  });
});

describe("a count of tokens", () => {
  it("is the prompt's, and draws nothing", async () => {
    for (const prefix of ["/r/r/0/train", ""]) {
      const response = await client.post(`${prefix}/v1/messages/count_tokens`, user("hi", { tools }));
      const { usage } = await ask(user("hi", { tools }));
      expect([response.status, await response.json()]).toEqual([200, { input_tokens: usage.input_tokens }]);
    }
    expect(client.engine.requests).toHaveLength(2);
  });
});
