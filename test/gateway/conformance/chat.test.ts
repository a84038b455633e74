/** Facts 22 to 42 of the conformance plan: Chat Completions. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { itShared } from "../../shared.ts";
import { dataOf, GatewayServer, type Json } from "./gateway_server.ts";
import { captured, Replay } from "./replay.ts";

const server = new GatewayServer();
beforeAll(() => server.open());
afterAll(() => server.close());

const path = "/v1/chat/completions";
const user = { role: "user", content: "hi" };
const tool = (name: string) => ({ type: "function", function: { name, parameters: { type: "object" } } });
const tools = [tool("calc"), tool("read")];
const called = (name: string, args: string) => `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;

type Message = Json & { content: string | null; tool_calls?: { id: string; function: { arguments: string } }[] };

let rollout: string;
beforeEach(async () => {
  rollout = await server.rollout();
});

async function ask(messages: Json[], more: Json = {}): Promise<Message> {
  const { choices } = await server.json(rollout, path, { messages, tools, ...more });
  return (choices as { message: Message }[])[0]?.message as Message;
}

const result = (id: string | undefined, content: unknown): Json => ({ role: "tool", tool_call_id: id, content });

/** The last two calls, of which the second has to continue the first. */
async function expectContinued(): Promise<void> {
  const [first, second] = (await server.calls(rollout)).slice(-2);
  expect([second?.parent, second?.breakReason]).toEqual([first?.id, null]);
  const said = [...(first?.tokens.promptIds ?? []), ...(first?.tokens.replyIds ?? [])];
  expect([...(second?.tokens.promptIds.slice(0, said.length) ?? [])]).toEqual(said);
}

/** A turn with a call, sent back as `rewrite` leaves it. */
async function loop(sampled: string, rewrite: (message: Message) => Json, content: unknown = "5"): Promise<void> {
  server.engine.texts.push(sampled, "done");
  const message = await ask([user]);
  await ask([user, rewrite(message), result(message.tool_calls?.[0]?.id, content)]);
  await expectContinued();
}

describe("fact", () => {
  it("22: without stream there is one JSON completion", async () => {
    for (const more of [{}, { stream: false }, { stream: null }]) {
      const answer = await server.json(rollout, path, { messages: [user], ...more });
      expect(answer).toMatchObject({ object: "chat.completion", choices: [{ finish_reason: "stop" }] });
    }
  });

  it("23 and 24: a stream begins with the role and ends with a reason and [DONE]", async () => {
    const { text } = await server.post(rollout, path, { messages: [user], stream: true });
    const chunks = dataOf(text) as (Json & { choices: { delta: Json; finish_reason: string | null }[] })[];
    expect(chunks[0]?.choices[0]?.delta.role).toBe("assistant");
    const reasons = chunks.map(({ choices }) => choices[0]?.finish_reason);
    expect([reasons.at(-1), new Set(reasons.slice(0, -1))]).toEqual(["stop", new Set([null])]);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  it("25: calls end a reply by tool_calls, streamed and not", async () => {
    server.engine.texts.push(called("calc", "{}"), called("calc", "{}"));
    const whole = await server.json(rollout, path, { messages: [user], tools });
    expect(whole).toMatchObject({ choices: [{ finish_reason: "tool_calls" }] });
    const { text } = await server.post(rollout, path, { messages: [user], tools, stream: true });
    expect(dataOf(text).at(-1)).toMatchObject({ choices: [{ finish_reason: "tool_calls" }] });
  });

  it("26: usage has a chunk of its own where it is asked for, and none otherwise", async () => {
    const asked = { messages: [user], stream: true, stream_options: { include_usage: true } };
    const chunks = dataOf((await server.post(rollout, path, asked)).text);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    const plain = dataOf((await server.post(rollout, path, { messages: [user], stream: true })).text);
    expect(plain.some((chunk) => "usage" in chunk)).toBe(false);
  });

  it("27: the first delta of a call has index, id, type and name, the next ones its arguments", async () => {
    server.engine.texts.push(`${called("calc", '{"a": 1}')}\n${called("read", "{}")}`);
    const { text } = await server.post(rollout, path, { messages: [user], tools, stream: true });
    const deltas = dataOf(text).flatMap(
      ({ choices }) => ((choices as { delta: Json }[])[0]?.delta.tool_calls ?? []) as Json[],
    );
    const id = expect.stringMatching(/^call_\w+$/);
    expect(deltas).toEqual([
      { index: 0, id, type: "function", function: { name: "calc", arguments: "" } },
      { index: 0, function: { arguments: '{"a": 1}' } },
      { index: 1, id, type: "function", function: { name: "read", arguments: "" } },
      { index: 1, function: { arguments: "{}" } },
    ]);
  });

  it("28: results of parallel calls are matched by their ids, in any number", async () => {
    server.engine.texts.push(`${called("calc", '{"a": 1}')}\n${called("read", "{}")}\n${called("calc", "{}")}`, "done");
    const message = await ask([user]);
    const ids = (message.tool_calls ?? []).map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    await ask([user, message, ...ids.map((id, at) => result(id, `r${at}`))]);
    await expectContinued();
    expect(server.promptText((await server.calls(rollout))[1])).toMatch(/r0[\s\S]*r1[\s\S]*r2/);
  });

  it("29 and 30: a text and a list of one text part are the same tokens", async () => {
    const parts = (text: string) => [{ type: "text", text }];
    const prompts: number[][] = [];
    for (const wrap of [(text: string): unknown => text, parts]) {
      rollout = await server.rollout();
      server.engine.texts.push(called("calc", "{}"), "done");
      const asked = { role: "user", content: wrap("hi") };
      const message = await ask([asked]);
      await ask([asked, message, result(message.tool_calls?.[0]?.id, wrap("5"))]);
      prompts.push([...((await server.calls(rollout))[1]?.tokens.promptIds ?? [])]);
    }
    expect(prompts[0]).toEqual(prompts[1]);
  });

  it("31: of a content part only its text is read, and calls from the message", async () => {
    await loop(`I add.\n${called("calc", "{}")}`, (message) => ({
      ...message,
      content: [{ type: "text", text: "I add.", role: "assistant", refusal: null, tool_calls: message.tool_calls }],
    }));
  });

  it("32: an assistant without content has calls alone", async () => {
    await loop(called("calc", "{}"), (message) => ({ ...message, content: null }));
    rollout = await server.rollout();
    await loop(called("calc", "{}"), ({ tool_calls }) => ({ role: "assistant", tool_calls }));
  });

  it("33: messages of one role may follow each other", async () => {
    const system = (content: string) => ({ role: "system", content });
    await ask([system("a"), system("b"), user, user, { role: "developer", content: "d" }, user]);
    const [call] = await server.calls(rollout);
    expect(server.promptText(call)).toMatch(/a[\s\S]*b[\s\S]*hi[\s\S]*hi[\s\S]*d[\s\S]*hi/);
  });

  it("34: either name limits a reply, and neither leaves it the context's room", async () => {
    const limit = async (more: Json) => {
      await ask([user], more);
      return (await server.calls(rollout)).at(-1)?.sampling.max_tokens;
    };
    expect([await limit({ max_tokens: 7 }), await limit({ max_completion_tokens: 7 })]).toEqual([7, 7]);
    expect(await limit({})).toBeGreaterThan(1000);
  });

  it("35: tool_choice none shows no tools, and a forced function is given to the engine as a constraint", async () => {
    await ask([user], { tool_choice: "none" });
    await ask([user], { tool_choice: "auto" });
    const [none, auto] = (await server.calls(rollout)).map((call) => server.promptText(call).includes("calc"));
    expect([none, auto]).toEqual([false, true]);
    await ask([user], { tool_choice: { type: "function", function: { name: "calc" } } });
    const forced = { kind: "tool_calls", required: true, tools: [{ name: "calc" }] };
    expect(server.engine.requests.at(-1)?.constraint).toMatchObject(forced);
  });

  it("36: a format of JSON is given to the engine as a constraint, with tools too", async () => {
    const schema = { type: "object", required: ["a"] };
    const format = { response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema } } };
    await ask([user], { ...format, tools: undefined });
    expect(server.engine.requests.at(-1)?.constraint).toEqual({ kind: "json_schema", schema });
    await ask([user], format);
    expect(server.engine.requests.at(-1)?.constraint).toMatchObject({ required: false, text: { kind: "json_schema" } });
    await ask([user], { response_format: { type: "json_object" }, tools: undefined });
    expect(server.engine.requests.at(-1)?.constraint).toEqual({ kind: "json_object" });
  });

  it("37: thinking is shown, and the turn continued whether it comes back or not", async () => {
    const sampled = `<think>\nHm.\n</think>\n\nI add.\n${called("calc", "{}")}`;
    await loop(sampled, (message) => {
      expect(message.reasoning_content).toBe("Hm.");
      return message;
    });
    rollout = await server.rollout();
    await loop(sampled, ({ reasoning_content: _, ...message }) => message);
  });

  it("38: arguments written anew are the same call", async () => {
    await loop(called("calc", '{"command":  "echo h\\u00e9"}'), (message) => ({
      ...message,
      tool_calls: message.tool_calls?.map((call) => ({
        ...call,
        function: { ...call.function, arguments: JSON.stringify(JSON.parse(call.function.arguments)) },
      })),
    }));
  });

  it("39: whatever becomes of arguments or of the name, the id finds the call", async () => {
    for (const replaced of [{ arguments: "{}" }, { name: "invalid", arguments: '{"tool":"calc","error":"bad"}' }]) {
      rollout = await server.rollout();
      await loop(called("calc", '{"a": 1}'), (message) => ({
        ...message,
        tool_calls: message.tool_calls?.map((call) => ({ ...call, function: { ...call.function, ...replaced } })),
      }));
    }
    rollout = await server.rollout();
    server.engine.texts.push(called("calc", '{"a": '), "again");
    expect((await ask([user])).tool_calls ?? []).toEqual([]);
    await ask([user]);
    const calls = await server.calls(rollout);
    expect(calls.map(({ breakReason, callKey }) => [breakReason, callKey.split(".")[1]])).toEqual([
      [null, "0"],
      [null, "1"],
    ]);
  });

  it("40: an unknown tool's call is passed on", async () => {
    await loop(called("nothing", "{}"), (message) => {
      expect(message.tool_calls).toMatchObject([{ function: { name: "nothing" } }]);
      return message;
    });
  });

  it("41: settings are followed or recorded as not", async () => {
    await ask([user], { drop_params: true, store: false, frequency_penalty: 0, presence_penalty: 0, user: "u" });
    expect((await server.calls(rollout))[0]?.overridden).toEqual({});
    await ask([user], { temperature: 0, top_p: 0.95, seed: 1, stop: ["x"], frequency_penalty: 1 });
    const call = (await server.calls(rollout))[1];
    expect(call?.overridden).toEqual({ temperature: 0, top_p: 0.95, seed: 1, frequency_penalty: 1 });
    expect(call?.sampling).toMatchObject({ temperature: 1, stop: ["x"] });
    const val = await server.rollout("val");
    const url = `${server.url}/r/${val}/0/val${path}`;
    const body = JSON.stringify({ messages: [user], top_p: 0.5, frequency_penalty: 1, logit_bias: { 5: -100 } });
    await (await fetch(url, { method: "POST", body, headers: { "x-api-key": "admin" } })).text();
    expect((await server.calls(val))[0]).toMatchObject({
      overridden: {},
      sampling: { temperature: 0.7, topP: 0.5, frequencyPenalty: 1, logitBias: [[5, -100]] },
    });
  });

  it("42: whitespace around a text is sent as sampled, and found again", async () => {
    const text = "\n\n  I will do it. \n";
    for (const sentBack of [text, text.trimEnd()]) {
      rollout = await server.rollout();
      server.engine.texts.push(text, "done");
      expect((await ask([user])).content).toBe(text);
      await ask([user, { role: "assistant", content: sentBack }, user]);
      await expectContinued();
    }
  });

  itShared("22 to 42, as opencode, pi, mini and LangChain have them", "captures/index.json", async () => {
    for (const name of ["opencode/14-request.json", "opencode~fid~reason", "mini~mini~fid", "pi24~fid~reason"]) {
      const session = captured(name);
      const replay = new Replay(server, await server.rollout(), session);
      await replay.playAll();
      const calls = await server.calls(replay.rollout);
      const links = calls.map(({ parent, breakReason }) => [parent, breakReason]);
      expect(links, name).toEqual(calls.map((_, at) => [calls[at - 1]?.id ?? null, null]));
    }
  });
});
