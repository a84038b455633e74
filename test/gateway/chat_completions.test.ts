/**
 * Chat completions of the own model. Plan: the reply and its fields, tools, thinking, lengths, stops, logprobs, token
 * ids, siblings, leniency, the list of models.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { tinyTokenizerFiles } from "../text/tiny_tokenizer.ts";
import { AppClient, type Completion } from "./app_client.ts";
import { ScriptedEngine } from "./scripted_engine.ts";

let client: AppClient;
beforeEach(async () => {
  client = new AppClient();
  await client.create("r");
});

const user = (content: unknown) => ({ messages: [{ role: "user", content }] });
const tools = [{ type: "function", function: { name: "add", parameters: { type: "object" } } }];

const refusal = (body: unknown) => client.refusal("/r/r/0/train/v1/chat/completions", body);

describe("a reply", () => {
  it("is a chat.completion with usage and token ids", async () => {
    client.engine.script = (_, prompt) => `heard ${prompt}`;
    const before = Math.floor(Date.now() / 1000);
    const completion = await client.ask("r", "hi", { model: "anything" });
    expect(completion).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{24}$/),
      object: "chat.completion",
      model: "m",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "heard [user]hi[assistant]", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: {
        prompt_tokens: 19,
        completion_tokens: 26,
        total_tokens: 45,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    });
    expect((completion as unknown as { created: number }).created).toBeGreaterThanOrEqual(before);
    expect(completion.prompt_token_ids).toHaveLength(19);
    expect(completion.choices[0]?.token_ids?.at(-1)).toBe(0);
    const plain = await client.ask("r", "hi", { return_token_ids: false });
    expect(plain).not.toHaveProperty("prompt_token_ids");
    expect(plain.choices[0]).not.toHaveProperty("token_ids");
  });

  it("names the policy version that drew its last token", async () => {
    client.engine.version = 7;
    for (const path of ["/r/r/0/train/v1/chat/completions", "/v1/chat/completions"]) {
      const response = await client.post(path, user("hi"));
      expect([response.status, response.headers.get("x-leyden-policy-version")]).toEqual([200, "7"]);
    }
  });

  it("has tool calls with ids that the next run gives too, when tools were offered", async () => {
    client.engine.script = () => 'first<call>add {"a": 1}</call><call>add {"b":2 }</call>';
    const { choices } = await client.ask("r", "hi", { tools });
    const calls = choices[0]?.message.tool_calls ?? [];
    expect(choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { content: "first" } });
    expect(calls.map((call) => call.function)).toEqual([
      { name: "add", arguments: '{"a": 1}' },
      { name: "add", arguments: '{"b":2 }' },
    ]);
    for (const call of calls)
      expect(call).toMatchObject({ type: "function", id: expect.stringMatching(/^call_[0-9a-f]{16}$/) });
    expect(calls[0]?.id).not.toBe(calls[1]?.id);
    const other = new AppClient();
    other.engine.script = client.engine.script;
    await other.create("r");
    expect((await other.ask("r", "hi", { tools })).choices[0]?.message.tool_calls).toEqual(calls);
  });

  it("to a request without tools is text, whatever it looks like", async () => {
    client.engine.script = () => "<call>add {}</call>";
    for (const more of [{}, { tools, tool_choice: "none" }, { tools: [] }, { tools: [{ type: "web_search" }] }]) {
      const { choices } = await client.ask("r", "hi", more);
      expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "<call>add {}</call>" } });
      expect(choices[0]?.message).not.toHaveProperty("tool_calls");
    }
  });

  it("without text beside its calls has content null; thinking stands apart", async () => {
    client.engine.script = () => "<think>hmm</think><call>add {}</call>";
    const { choices } = await client.ask("r", "hi", { tools });
    expect(choices[0]?.message).toMatchObject({ content: null, reasoning_content: "hmm" });
  });

  it("shows the bytes of tokens that are no text by themselves", async () => {
    const codec = ChatFormat.load(tinyTokenizerFiles());
    const engine = new ScriptedEngine(codec);
    const tokenBytes = (id: number) => codec.tokenizer.tokenBytes(id);
    client = new AppClient({}, { engine, model: { ...engine.model, tokenBytes } });
    engine.texts.push("é日");
    await client.create("r");
    const { choices } = await client.ask("r", "hi", { logprobs: true });
    const shown = choices[0]?.logprobs?.content.slice(0, -1).map(({ bytes }) => bytes);
    expect(shown).toEqual([[0xc3], [0xa9], [0xe6], [0x97], [0xa5]]);
  });

  it("shows logprobs when asked", async () => {
    client.engine.script = () => "é!";
    const { choices } = await client.ask("r", "hi", { logprobs: true });
    expect(choices[0]?.logprobs?.content).toEqual([
      { token: "é", logprob: -0.125, bytes: [0xc3, 0xa9], top_logprobs: [] },
      { token: "!", logprob: -0.25, bytes: [33], top_logprobs: [] },
      { token: "<stop>", logprob: -0.375, bytes: [60, 115, 116, 111, 112, 62], top_logprobs: [] },
    ]);
    const likely = await client.ask("r", "hi", { logprobs: true, top_logprobs: 2 });
    expect(likely.choices[0]?.logprobs?.content[1]).toEqual({
      token: "!",
      logprob: -0.25,
      bytes: [33],
      top_logprobs: [
        { token: "!", logprob: -1, bytes: [33] },
        { token: '"', logprob: -2, bytes: [34] },
      ],
    });
    expect(client.engine.requests.map(({ topLogprobs }) => topLogprobs)).toEqual([undefined, 2]);
  });
});

describe("length and stops", () => {
  it("max_tokens and max_completion_tokens limit a reply, which then ends by length", async () => {
    client.engine.script = () => "abcdef";
    const length = async (more: Record<string, unknown>) => {
      const { choices } = await client.ask("r", "hi", more);
      return [choices[0]?.message.content, choices[0]?.finish_reason];
    };
    expect(await length({ max_tokens: 3 })).toEqual(["abc", "length"]);
    expect(await length({ max_completion_tokens: 2 })).toEqual(["ab", "length"]);
    expect(await length({ max_completion_tokens: 2, max_tokens: 5 })).toEqual(["ab", "length"]);
    expect(await length({ max_tokens: null })).toEqual(["abcdef", "stop"]);
  });

  it("the reply is clamped to the room that the prompt leaves", async () => {
    client.engine.contextLength = 24;
    client.engine.script = () => "abcdefghijkl";
    const completion = await client.ask("r", "hi", { max_tokens: 1000 });
    expect(client.engine.requests[0]?.maxTokens).toBe(5);
    expect(completion.usage.total_tokens).toBe(24);
    expect(completion.choices[0]?.finish_reason).toBe("length");
  });

  it("a prompt without room for one token is refused before the engine sees it", async () => {
    client.engine.contextLength = 19;
    expect(await refusal(user("hi"))).toEqual({
      status: 400,
      error: {
        message:
          "This model's maximum context length is 19 tokens. However, your messages resulted in 19 tokens. Please reduce the length of the messages.",
        type: "invalid_request_error",
        param: "messages",
        code: "context_length_exceeded",
      },
    });
    expect(client.engine.requests).toEqual([]);
    expect(await client.calls("r")).toEqual([]);
    expect(await client.store.failures("r")).toMatchObject([{ code: "context_length_exceeded", httpStatus: 400 }]);
  });

  it("a stop text ends the reply and is not shown; its tokens are recorded", async () => {
    client.engine.script = () => "thought\nObservation: 5";
    const { choices } = await client.ask("r", "hi", { stop: ["Observation:", ""] });
    expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "thought\n" } });
    expect(client.engine.requests[0]?.stopStrings).toEqual(["Observation:"]);
    const [call] = await client.calls("r");
    expect(call?.tokens.replyIds).toHaveLength("thought\nObservation:".length);
    const one = await client.ask("r", "hi", { stop: "ought" });
    expect(one.choices[0]?.message.content).toBe("th");
  });
});

describe("siblings", () => {
  it("n replies are n calls with draws of their own", async () => {
    let drawn = 0;
    client.engine.script = () => `reply ${drawn++}`;
    const completion = await client.ask("r", "hi", { n: 3 });
    expect(completion.choices.map((choice) => [choice.index, choice.message.content])).toEqual([
      [0, "reply 0"],
      [1, "reply 1"],
      [2, "reply 2"],
    ]);
    expect(completion.usage).toMatchObject({ prompt_tokens: 19, completion_tokens: 24, total_tokens: 43 });
    const calls = await client.calls("r");
    expect(new Set(calls.map((call) => call.callKey)).size).toBe(3);
    expect(calls.map((call) => (call.response as Completion).choices[0]?.message.content)).toEqual([
      "reply 0",
      "reply 1",
      "reply 2",
    ]);
    const keys = client.engine.requests.map((request) => request.key.join());
    expect(new Set(keys).size).toBe(3);
  });

  it("are all ended when one of them fails", async () => {
    let drawn = 0;
    client.engine.script = () => (drawn++ === 0 ? new Error("broken") : new Promise(() => {}));
    expect((await refusal({ ...user("hi"), n: 2 })).status).toBe(500);
    expect(client.engine.cancelled).toContain(client.engine.requests[1]?.id);
    expect(await client.calls("r")).toEqual([]);
  });
});

describe("leniency", () => {
  it("takes what real harnesses send", async () => {
    const odd = {
      drop_params: true,
      usage: { include: true },
      store: false,
      metadata: { a: 1 },
      client_metadata: {},
      prompt_cache_key: "x",
      parallel_tool_calls: true,
      user: "me",
      service_tier: "auto",
      frequency_penalty: 0,
      tools: [...tools, { type: "web_search" }, { type: "namespace", tools: [] }, null],
      tool_choice: "auto",
      messages: [
        { role: "system", content: "a" },
        { role: "system", content: [{ type: "text", text: "b", cache_control: { type: "ephemeral" } }] },
        { role: "developer", content: "c" },
        { role: "user", content: "d", __copilotMessageSource: "x" },
        { role: "user", content: [{ type: "text", text: "e", role: "user", refusal: "" }] },
        {
          role: "assistant",
          content: null,
          refusal: null,
          name: "model",
          tool_calls: [{ id: "1", type: "function", function: { name: "add", arguments: "{oops" } }],
        },
        { role: "tool", tool_call_id: "1", content: [{ type: "text", text: "5" }], name: "add" },
        { role: "assistant", reasoning_content: "r" },
        { role: "user", content: "f" },
      ],
    };
    expect((await client.chat("r", odd)).status).toBe(200);
    expect((await client.calls("r"))[0]?.overridden).toEqual({});
  });
});

describe("GET /v1/models", () => {
  it("lists the policy at every address, for any good key", async () => {
    const key = await client.app.issueKey("r", "0");
    for (const path of ["/v1/models", "/r/r/0/train/v1/models"]) {
      const response = await client.get(path, key);
      expect(await response.json()).toMatchObject({
        object: "list",
        data: [{ id: "m", object: "model", owned_by: "leyden" }],
      });
      expect((await client.get(path, "wrong")).status).toBe(401);
    }
  });
});
