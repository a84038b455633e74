/**
 * What is recorded of the own model's calls. Plan: exact tokens, parents and breaks, sampling policy of both modes,
 * draws and their keys, going on after a restart, the event a trainer reads.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { AppClient, type Completion } from "./app_client.ts";

let client: AppClient;
beforeEach(async () => {
  client = new AppClient({ trainTemperature: 1, valTemperature: 0.25 });
  await client.create("r");
});

const messages = [{ role: "user", content: "hi" }];
const shaped = {
  messages,
  temperature: 0.2,
  top_p: 0.5,
  top_k: 7,
  min_p: 0.1,
  frequency_penalty: 0.5,
  presence_penalty: 0,
  logit_bias: { 5: 1 },
  seed: 3,
  response_format: { type: "json_object" },
  tool_choice: "required",
  repetition_penalty: 1,
};

describe("a recorded call", () => {
  it("has the exact tokens, logprobs and versions, and facts about them", async () => {
    client.engine.version = 4;
    const { id, prompt_token_ids: promptIds, choices } = await client.ask("r", "hi");
    const [call] = await client.calls("r");
    expect(call).toMatchObject({
      id: id.slice("chatcmpl-".length),
      rolloutId: "r",
      attemptId: "0",
      mode: "train",
      dialect: "chat_completions",
      policy: "m",
      own: true,
      parent: null,
      prefixLength: 0,
      breakReason: null,
      truncated: false,
      server: { model: "m", endpoint: "engine", version: 4 },
      httpStatus: 200,
      finishReason: "stop",
      retryCount: 0,
    });
    expect([...(call?.tokens.promptIds ?? [])]).toEqual(promptIds);
    expect([...(call?.tokens.replyIds ?? [])]).toEqual(choices[0]?.token_ids);
    expect(call?.tokens.logprobs).toEqual(Float32Array.of(-0.125, -0.25, -0.375));
    expect(call?.tokens.versions).toEqual(Int32Array.of(4, 4, 4));
  });

  it("names the call it continues, and why it continues none", async () => {
    client.engine.script = (_, prompt) => `n${prompt.length}`;
    const first = await client.ask("r", "hi");
    const reply = first.choices[0]?.message.content;
    const next = [...messages, { role: "assistant", content: reply }, { role: "user", content: "go on" }];
    await (await client.chat("r", { messages: next })).text();
    await client.ask("r", "something else");
    const [a, b, c] = await client.calls("r");
    expect([b?.parent, b?.breakReason]).toEqual([a?.id, null]);
    expect(b?.prefixLength).toBe((a?.tokens.promptIds.length ?? 0) + (a?.tokens.replyIds.length ?? 0));
    expect([c?.parent, c?.prefixLength, c?.breakReason]).toEqual([null, 0, "side"]);
  });

  it("of one attempt is never continued by another, nor by another rollout", async () => {
    await client.create("s");
    await client.ask("r", "hi");
    const next = { messages: [...messages, { role: "assistant", content: "ok" }, { role: "user", content: "go on" }] };
    await (await client.chat("r", next, "1")).text();
    await (await client.chat("s", next)).text();
    expect((await client.store.calls("r", "1"))[0]).toMatchObject({ parent: null, breakReason: null });
    expect((await client.calls("s"))[0]).toMatchObject({ parent: null, breakReason: null });
  });

  it("reads as an event with ids, logprobs, the settings used and those that were not", async () => {
    await (await client.chat("r", shaped)).text();
    const events = (await (await client.get("/api/rollouts/r/events")).json()) as { data: Record<string, unknown> }[];
    const data = events[0]?.data ?? {};
    expect(data).toMatchObject({
      model: "m",
      model_version: 1,
      http_status: 200,
      status: "ok",
      finish_reason: "stop",
      usage: { prompt_tokens: 19, completion_tokens: 3 },
      mode: "train",
      parent_call: null,
      break_reason: null,
      delivery: "delivered",
      overridden: { top_p: 0.5 },
      request: { messages, model: "m", temperature: 1 },
    });
    for (const name of ["top_p", "top_k", "seed", "logit_bias"]) expect(data.request).not.toHaveProperty(name);
    const short = (await (await client.get("/api/rollouts/r/events?format=triplet")).json()) as typeof events;
    expect(short[0]?.data).toMatchObject({
      response_token_ids: [111, 107, 0],
      response_log_probs: [-0.125, -0.25, -0.375],
      server: { model: "m", version: 1 },
    });
    expect(short[0]?.data.prompt_token_ids).toHaveLength(19);
  });
});

describe("a call beside the work", () => {
  const ask = async (system: string, more: object = {}) => {
    const said = [{ role: "system", content: system }, ...messages];
    await (await client.chat("r", { messages: said, ...more })).text();
    return (await client.calls("r")).at(-1)?.side;
  };
  const tools = [{ type: "function", function: { name: "f" } }];

  it("is known by what it asks for, and named", async () => {
    expect(await ask("You are a title generator. You output ONLY a thread title.")).toBe("title");
    expect(await ask("Generate a short, descriptive title for this.")).toBe("title");
    expect(await ask("You edit books with a title and chapters.")).toBeUndefined();
    expect(await ask("You are a title generator.", { tools })).toBeUndefined();
  });

  it("is known by rules of one's own", async () => {
    const sideCalls = [
      { name: "small", model: "small-model" },
      { name: "wordy", words: "be brief" },
    ];
    client = new AppClient({ sideCalls });
    await client.create("r");
    expect(await ask("x", { model: "small-model" })).toBe("small");
    expect(await ask("Be brief.", { model: "m" })).toBe("wordy");
    expect(await ask("You are a title generator.")).toBeUndefined();
    const { calls } = (await (await client.get("/api/rollouts/r/calls")).json()) as { calls: { side?: string }[] };
    expect(calls.map(({ side }) => side)).toEqual(["small", "wordy", undefined]);
  });
});

describe("sampling", () => {
  it("in train mode is plain at the configured temperature, and says what it did not follow (Agent Lightning lets top_p through)", async () => {
    await (await client.chat("r", shaped)).text();
    expect(client.engine.requests[0]?.sampling).toEqual({ temperature: 1, topP: 1, topK: 0, minP: 0 });
    const [call] = await client.calls("r");
    expect(call?.overridden).toEqual({
      temperature: 0.2,
      top_p: 0.5,
      top_k: 7,
      min_p: 0.1,
      frequency_penalty: 0.5,
      logit_bias: { 5: 1 },
      seed: 3,
      response_format: { type: "json_object" },
      tool_choice: "required",
    });
    expect(call?.sampling).toMatchObject({ temperature: 1, topP: 1, stop: [] });
  });

  it("says nothing of settings that ask for what is done anyway", async () => {
    await (await client.chat("r", { messages, temperature: 1, top_p: 1, top_k: -1, min_p: 0 })).text();
    expect((await client.calls("r"))[0]?.overridden).toEqual({});
  });

  it("in val mode has the val temperature and the harness's truncation", async () => {
    await client.create("v", { is_train: false });
    await (await client.chat("v", shaped, "0", "val")).text();
    expect(client.engine.requests[0]?.sampling).toEqual({ temperature: 0.25, topP: 0.5, topK: 7, minP: 0.1 });
    const [call] = await client.calls("v");
    expect(Object.keys(call?.overridden ?? {})).toContain("temperature");
    expect(call).toMatchObject({ mode: "val", truncated: true });
  });

  it("of a call that is nobody's is as asked, unrecorded, and repeatable by seed", async () => {
    const post = (more: object) => client.post("/v1/chat/completions", { ...shaped, ...more });
    expect(((await (await post({})).json()) as Completion).choices[0]?.message.content).toBe("ok");
    await post({});
    await post({ seed: 4 });
    const [a, b, c] = client.engine.requests;
    expect(a?.sampling).toEqual({ temperature: 0.2, topP: 0.5, topK: 7, minP: 0.1 });
    expect(a?.key).toEqual(b?.key);
    expect(a?.key).not.toEqual(c?.key);
    expect(await client.store.seq()).toBe(1);
  });
});

describe("draws", () => {
  const keys = (of: AppClient) => of.engine.requests.map((request) => request.key.join());

  it("are the same in every run and attempt, and differ by rollout, prompt, settings, seed and count", async () => {
    const other = new AppClient({ trainTemperature: 1, valTemperature: 0.25 });
    await other.create("r");
    for (const one of [client, other]) {
      await one.ask("r", "hi");
      await one.ask("r", "hi");
    }
    expect(keys(other)).toEqual(keys(client));
    expect(keys(client)[0]).not.toBe(keys(client)[1]);
    await (await client.chat("r", { messages }, "1")).text();
    expect(keys(client)[2]).toBe(keys(client)[0]);
    await client.create("s");
    await client.ask("s", "hi");
    await client.ask("r", "ho");
    await client.ask("r", "hi", { max_tokens: 5 });
    const seeded = new AppClient({ trainTemperature: 1, seed: 1 });
    await seeded.create("r");
    await seeded.ask("r", "hi");
    expect(new Set([...keys(client), ...keys(seeded)]).size).toBe(6);
  });

  it("of calls that race are counted by arrival, so that a group of them is the same in every run", async () => {
    const replies = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    client.engine.script = async () => (await replies[client.engine.requests.length - 1]?.promise) ?? "";
    const first = client.ask("r", "hi");
    const second = client.ask("r", "hi");
    await expect.poll(() => client.engine.requests.length).toBe(2);
    expect(client.app.waitingCalls("r", "0")).toBe(2);
    for (const reply of replies.reverse()) reply.resolve("x");
    await Promise.all([first, second]);
    const calls = await client.calls("r");
    expect(calls.map((call) => call.callKey.split(".")[1]).sort()).toEqual(["0", "1"]);
  });
});

describe("after a restart", () => {
  it("conversations go on where they were, and draws are counted on", async () => {
    const store = new MemoryStore();
    const before = new AppClient({}, { store });
    await before.create("r");
    await before.ask("r", "hi");
    await (await before.chat("r", { messages: [{ role: "user", content: "lost" }] })).body?.cancel();
    const after = new AppClient({}, { store });
    await after.ask("r", "hi");
    const next = [...messages, { role: "assistant", content: "ok" }, { role: "user", content: "go on" }];
    await (await after.chat("r", { messages: next })).text();
    await after.ask("r", "lost");
    const calls = await store.calls("r");
    expect(calls.map((call) => call.callKey.split(".")[1])).toEqual(["0", "0", "1", "0", "0"]);
    expect(calls[3]?.parent === calls[0]?.id || calls[3]?.parent === calls[2]?.id).toBe(true);
  });

  it("a rollout that was deleted and made again starts anew", async () => {
    await client.ask("r", "hi");
    await client.send("DELETE", "/api/rollouts/r");
    await new Promise((resolve) => setTimeout(resolve, 2));
    await client.create("r");
    await client.ask("r", "hi");
    expect((await client.calls("r")).map((call) => [call.parent, call.callKey.split(".")[1]])).toEqual([[null, "0"]]);
  });

  it("a call that cannot be written fails, and its draw is taken back", async () => {
    const store = new MemoryStore();
    const one = new AppClient({}, { store });
    await one.create("r");
    const append = store.append.bind(store);
    store.append = async (events) => {
      if (events.some((event) => event.type === "call_recorded")) throw new Error("disk");
      return await append(events);
    };
    expect((await one.chat("r", { messages })).status).toBe(500);
    store.append = append;
    await one.ask("r", "hi");
    expect((await store.calls("r"))[0]?.callKey).toMatch(/\.0$/);
    expect(await store.failures("r")).toHaveLength(1);
  });
});
