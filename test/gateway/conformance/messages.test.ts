/** Facts 57 to 63 of the conformance plan: Anthropic Messages. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { itShared } from "../../shared.ts";
import { dataOf, GatewayServer, type Json } from "./gateway_server.ts";
import { captured, Replay } from "./replay.ts";
import { failed, nextDraw } from "./requests.ts";

const server = new GatewayServer();
beforeAll(() => server.open());
afterAll(() => server.close());

const path = "/v1/messages";
const tools = [{ name: "calc", input_schema: { type: "object" } }];
const call = (args: string) => `<tool_call>\n{"name": "calc", "arguments": ${args}}\n</tool_call>`;
const text = (value: string, more: Json = {}) => ({ type: "text", text: value, ...more });
const user = (content: unknown) => ({ role: "user", content });

type Block = Json & { type: string; id?: string };

let rollout: string;
beforeEach(async () => {
  rollout = await server.rollout();
});

async function ask(messages: Json[], more: Json = {}): Promise<Block[]> {
  const { content } = await server.json(rollout, path, { messages, tools, max_tokens: 99, ...more });
  return content as Block[];
}

async function expectContinued(): Promise<void> {
  const [first, second] = (await server.calls(rollout)).slice(-2);
  expect([second?.parent, second?.breakReason]).toEqual([first?.id, null]);
  const said = [...(first?.tokens.promptIds ?? []), ...(first?.tokens.replyIds ?? [])];
  expect([...(second?.tokens.promptIds.slice(0, said.length) ?? [])]).toEqual(said);
}

const results = (content: readonly Block[]) =>
  content.flatMap(({ type, id }, at) =>
    type === "tool_use" ? [{ type: "tool_result", tool_use_id: id, content: `r${at}` }] : [],
  );

describe("fact", () => {
  it("57: a stream has every event with its terminator, and usage at both ends", async () => {
    server.engine.texts.push(`<think>\nHm.\n</think>\n\nI add.\n${call('{"a": 1}')}`);
    const { text: stream } = await server.post(rollout, path, {
      messages: [user("hi")],
      tools,
      max_tokens: 99,
      stream: true,
    });
    const events = dataOf(stream);
    const block = ["content_block_start", "content_block_delta", "content_block_stop"];
    expect(events.map(({ type }) => type)).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      ...block.slice(1),
      ...block,
      ...block,
      "message_delta",
      "message_stop",
    ]);
    expect(events[0]).toMatchObject({ message: { usage: { input_tokens: expect.any(Number), output_tokens: 0 } } });
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: "tool_use" },
      usage: { output_tokens: expect.any(Number) },
    });
  });

  it("58: system messages are rendered in their places", async () => {
    await ask([user("one"), { role: "system", content: [text("now this")] }, user("two")], { system: "first" });
    expect(server.promptText((await server.calls(rollout))[0])).toMatch(/first[\s\S]*one[\s\S]*now this[\s\S]*two/);
  });

  it("59: cache marks and the way a text is wrapped change no token", async () => {
    const mark = { cache_control: { type: "ephemeral" } };
    server.engine.texts.push(call("{}"), "done");
    const reply = await ask([user([text("hi", mark)])], { system: [text("be", mark)] });
    const marked = tools.map((tool) => ({ ...tool, ...mark }));
    const echoed = { role: "assistant", content: reply.map((block) => ({ ...block, ...mark })) };
    await ask([user("hi"), echoed, user(results(reply).map((one) => ({ ...one, ...mark })))], {
      system: "be",
      tools: marked,
    });
    await expectContinued();
    const before = (await server.calls(rollout))[1]?.tokens.promptIds;
    await ask([user("hi"), { ...echoed, content: reply }, user(results(reply))], { system: [text("be")] });
    expect((await server.calls(rollout))[2]?.tokens.promptIds).toEqual(before);
  });

  it("60: results are matched by their ids in any order, with text after them, and failures say so", async () => {
    server.engine.texts.push(`${call('{"a": 1}')}\n${call('{"a": 2}')}`, "done");
    const reply = await ask([user("hi")]);
    const [one, two] = results(reply);
    await ask([
      user("hi"),
      { role: "assistant", content: reply },
      user([{ ...two, is_error: true }, one, text("and now?")]),
    ]);
    await expectContinued();
    expect(server.promptText((await server.calls(rollout))[1])).toMatch(/Error: r1[\s\S]*r0[\s\S]*and now\?/);
  });

  it("61: thinking and its signature come back, and the signature carries the call", async () => {
    for (const thinking of [
      { type: "adaptive", display: "omitted" },
      { type: "enabled", budget_tokens: 1024 },
    ]) {
      rollout = await server.rollout();
      server.engine.texts.push(`<think>\nHm.\n</think>\n\nDone.`, "more");
      const more = { thinking, output_config: { effort: "high" }, tools: [{ ...tools[0], defer_loading: true }] };
      const reply = await ask([user("hi")], more);
      const [first] = await server.calls(rollout);
      expect(reply[0]).toEqual({ type: "thinking", thinking: "Hm.", signature: btoa(`leyden:${first?.id}`) });
      await ask([user("hi"), { role: "assistant", content: reply }, user("go on")], more);
      await expectContinued();
    }
  });

  it("62: a thread is refused in the way that has clients send the whole conversation", async () => {
    for (const thread of [{ type: "create" }, { type: "continue", previous_message_id: "msg_x" }]) {
      const answer = await server.post(rollout, path, { messages: [user("hi")], max_tokens: 9, thread });
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
        400,
        {
          type: "error",
          error: {
            type: "invalid_request_error",
            details: { error_code: "thread_unsupported_request", unsupported: ["thread"] },
          },
        },
      ]);
    }
    expect((await server.post(rollout, path, { messages: [user("hi")], max_tokens: 9, thread: false })).status).toBe(
      200,
    );
  });

  it("63: a failure is never an event after content", async () => {
    nextDraw(server, failed);
    const body = { messages: [user("hi")], max_tokens: 9, stream: true };
    const answer = await server.post(rollout, path, body);
    expect([answer.status, answer.text]).toEqual([500, expect.stringMatching(/^\{"type":"error"/)]);
    server.faults.length = 0;
  });

  itShared("57 to 61, as Claude Code and others have them", "captures/index.json", async () => {
    const names = ["claude24", "claude24~fid~reason", "claude24~par", "claude24~res", "claude24~badargs"];
    for (const name of [...names, "opencode-anth", "pi24-anthropic-messages~fid~reason"]) {
      const replay = new Replay(server, await server.rollout(), captured(name));
      await replay.playAll();
      const calls = await server.calls(replay.rollout);
      const links = calls.map(({ parent, breakReason }) => [parent, breakReason]);
      expect(links, name).toEqual(calls.map((_, at) => [calls[at - 1]?.id ?? null, null]));
    }
  });

  itShared("62, as the SDK has it", "captures/index.json", async () => {
    for (const { body, path: at } of captured("anth-thread")) {
      const { status, text: said } = await server.post(rollout, at, body);
      expect([status, said]).toEqual([400, expect.stringContaining("thread_unsupported_request")]);
    }
  });
});
