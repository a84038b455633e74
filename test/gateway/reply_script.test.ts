// Plan: order per rollout, the last one repeated, replies for certain requests; through the gateway: ids, text and
// thinking as given, errors and delays, siblings, cut replies, what is recorded.
import { describe, expect, it } from "vitest";
import { ReplyScript } from "../../gateway/calls/reply_script.ts";
import type { ScriptedReply } from "../../src/schema/script.ts";
import { AppClient } from "./app_client.ts";
import { FakeEngine, fakeModel } from "./fake_model.ts";

const ask = (content: string) => ({ messages: [{ role: "user" as const, content }] });

describe("a script", () => {
  it("gives its replies in order to each rollout, and then the last one again", () => {
    const script = new ReplyScript([{ text: "1" }, { text: "2" }]);
    const texts = ["a", "b", "a", "a", "b", ""].map((rollout) => script.next(rollout, ask("x")).text);
    expect(texts).toEqual(["1", "1", "2", "2", "2", "1"]);
  });

  it("keeps replies for requests that contain a text apart from the others", () => {
    const script = new ReplyScript([
      { text: "1" },
      { text: "title", when: 'a "title"' },
      { text: "2" },
      { text: "other title", when: 'a "title"' },
    ]);
    const texts = ["go", 'write a "title"', "go", 'a "title" again', 'a "title"'].map(
      (text) => script.next("r", ask(text)).text,
    );
    expect(texts).toEqual(["1", "title", "2", "other title", "other title"]);
  });

  it("finds that text in tools and in any message", () => {
    const script = new ReplyScript([{ text: "1" }, { text: "t", when: "grep" }]);
    const tools = [{ type: "function" as const, function: { name: "grep" } }];
    expect(script.next("r", { ...ask("x"), tools }).text).toBe("t");
    const messages = [{ role: "system" as const, content: "use grep" }, ...ask("x").messages];
    expect(script.next("r", { messages }).text).toBe("t");
    expect(script.next("r", ask("x")).text).toBe("1");
  });
});

/** A gateway whose replies are scripted; the fake engine says what it is forced to. */
function scripted(...replies: ScriptedReply[]): AppClient {
  const engine = new FakeEngine();
  engine.script = ({ forcedIds = [] }) => String.fromCharCode(...forcedIds).replace(/\0$/, "");
  return new AppClient({}, { engine, model: { ...fakeModel(engine), script: new ReplyScript(replies) } });
}

const path = "/r/r/0/train/v1/chat/completions";
const tools = [{ type: "function", function: { name: "bash" } }];

interface Completion {
  choices: {
    message: { content: string | null; reasoning_content?: string; tool_calls?: unknown };
    finish_reason: string;
  }[];
}

async function complete(client: AppClient, more: Record<string, unknown> = {}): Promise<Completion> {
  const response = await client.post(path, { ...ask("hi"), tools, ...more });
  expect(response.status).toBe(200);
  return (await response.json()) as Completion;
}

describe("scripted replies of the gateway", () => {
  it("are sampled as given, with the calls' ids and argument texts", async () => {
    const call = { id: "call_mine", name: "bash", arguments: '{"command":  "ls"}' };
    const client = scripted({ reasoning: "hm", text: "look", calls: [call, { name: "bash" }] }, { text: "done" });
    await client.create("r");
    const [first] = (await complete(client)).choices;
    expect(first?.message).toMatchObject({ content: "look", reasoning_content: "hm" });
    const [mine, other] = (first?.message.tool_calls ?? []) as { id: string; function: unknown }[];
    expect(mine).toEqual({ id: "call_mine", type: "function", function: { name: "bash", arguments: call.arguments } });
    expect(other?.id).toMatch(/^call_[0-9a-f]{16}$/);
    expect(other?.function).toEqual({ name: "bash", arguments: "{}" });
    expect(first?.finish_reason).toBe("tool_calls");
    expect((await complete(client)).choices[0]).toMatchObject({ message: { content: "done" }, finish_reason: "stop" });
    const records = await client.store.calls("r");
    expect(records.map(({ own, server }) => [own, server.endpoint])).toEqual([
      [true, "script"],
      [true, "script"],
    ]);
    const [request] = client.engine.requests;
    expect([...(request?.forcedIds ?? [])]).toEqual([...(records[0]?.tokens.replyIds ?? [])]);
  });

  it("may be errors, in the dialect's form, and are failures of the rollout", async () => {
    const client = scripted({ error: 529 }, { text: "ok" });
    await client.create("r");
    const refused = await client.post("/r/r/0/train/v1/messages", { ...ask("hi"), max_tokens: 9 });
    expect(refused.status).toBe(529);
    expect(await refused.json()).toMatchObject({
      type: "error",
      error: { message: "The script answers this call with 529." },
    });
    expect((await complete(client)).choices[0]?.message.content).toBe("ok");
    expect(await client.store.failures("r")).toMatchObject([{ code: "scripted_error", httpStatus: 529 }]);
  });

  it("may wait, and not longer than the harness", async () => {
    const client = scripted({ delayMs: 60_000, text: "late" }, { delayMs: 5, text: "ok" });
    await client.create("r");
    const gone = new AbortController();
    const call = client.post(path, ask("hi"), "admin", { signal: gone.signal });
    await expect.poll(() => client.app.waitingCalls("r", "0")).toBe(1);
    gone.abort();
    await call.catch(() => {});
    await expect.poll(() => client.store.failures("r")).toMatchObject([{ code: "abandoned" }]);
    expect(client.engine.requests).toHaveLength(0);
    expect((await complete(client)).choices[0]?.message.content).toBe("ok");
  });

  it("are one each for siblings, and cut by the longest length asked for", async () => {
    const client = scripted({ text: "one" }, { text: "two" }, { text: "three" });
    await client.create("r");
    const siblings = await complete(client, { n: 2 });
    expect(siblings.choices.map(({ message }) => message.content)).toEqual(["one", "two"]);
    expect((await complete(client, { max_tokens: 4 })).choices[0]).toMatchObject({
      message: { content: "thre" },
      finish_reason: "length",
    });
  });
});
