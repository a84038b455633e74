/**
 * OpenAI Completions over a fake model: prompts as texts and as ids, several at once, streams, logprobs, refusals; and
 * over a real tokenizer: a prompt that repeats a recorded reply continues it token by token.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../../gateway/app.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { chatmlTemplate } from "../../src/text/chatml.ts";
import { tinyFormat } from "../text/formats.ts";
import { AppClient, sse } from "./app_client.ts";
import { fakeModel } from "./fake_model.ts";
import { ScriptedEngine } from "./scripted_engine.ts";

type Json = Record<string, unknown>;

const path = "/r/r/0/train/v1/completions";

let client: AppClient;
beforeEach(async () => {
  client = new AppClient();
  await client.create("r");
});

async function ask(body: Json): Promise<Json & { choices: Json[] }> {
  const response = await client.post(path, body);
  const json = (await response.json()) as Json & { choices: Json[] };
  expect(response.status, JSON.stringify(json)).toBe(200);
  return json;
}

describe("a completion", () => {
  it("continues a text as it stands", async () => {
    client.engine.script = () => "<call>f {}</call><think>x</think>";
    const answer = await ask({ model: "m", prompt: "Once", max_tokens: 100 });
    expect(answer).toMatchObject({
      object: "text_completion",
      model: "m",
      choices: [{ index: 0, text: "<call>f {}</call><think>x</think>", logprobs: null, finish_reason: "stop" }],
      usage: { prompt_tokens: 4, completion_tokens: 34, total_tokens: 38 },
    });
    expect(answer.id).toMatch(/^cmpl-[0-9a-f]{24}$/);
    const [call] = await client.calls("r");
    expect(call).toMatchObject({
      dialect: "completions",
      own: true,
      request: { prompt: "Once" },
      finishReason: "stop",
    });
    expect([...(call?.tokens.promptIds ?? [])]).toEqual([79, 110, 99, 101]);
  });

  it("draws 16 tokens where no number is given", async () => {
    client.engine.script = () => "x".repeat(99);
    const { choices } = await ask({ prompt: "a" });
    expect(choices[0]).toMatchObject({ text: "x".repeat(16), finish_reason: "length" });
  });

  it("echoes ids as the text they are together", async () => {
    const tokenBytes = (id: number) => Uint8Array.of(id);
    client = new AppClient({}, { engine: client.engine, model: { ...fakeModel(client.engine), tokenBytes } });
    client.engine.script = () => "!";
    const response = await client.post("/v1/completions", { prompt: [0xc3, 0xa9], echo: true });
    expect(await response.json()).toMatchObject({ choices: [{ text: "é!" }] });
  });

  it("takes several prompts, ids among them, and several replies of each", async () => {
    client.engine.script = (_, prompt) => `${prompt}!`;
    const { choices, usage } = await ask({ prompt: ["a", [98, 99]], n: 2, echo: true });
    expect(choices.map(({ index, text }) => [index, text])).toEqual([
      [0, "aa!"],
      [1, "aa!"],
      [2, "bcbc!"],
      [3, "bcbc!"],
    ]);
    expect(usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 14 });
    const calls = await client.calls("r");
    expect(calls.map(({ request }) => request.prompt)).toEqual(["a", "a", [98, 99], [98, 99]]);
  });

  it("shows logprobs as this API has them", async () => {
    const { choices } = await ask({ prompt: "a", logprobs: 2 });
    expect(choices[0]?.logprobs).toEqual({
      tokens: ["o", "k", "<stop>"],
      token_logprobs: [-0.125, -0.25, -0.375],
      top_logprobs: [
        { o: -1, p: -2 },
        { k: -1, l: -2 },
        { "<stop>": -1, "\u0001": -2 },
      ],
      text_offset: [0, 1, 2],
    });
    expect(client.engine.requests[0]?.topLogprobs).toBe(2);
  });

  it("streams what it says", async () => {
    const response = await client.post(path, {
      prompt: "a",
      n: 2,
      stream: true,
      stream_options: { include_usage: true },
    });
    const { chunks, done } = sse(await response.text());
    expect(done).toBe(true);
    expect(chunks).toMatchObject([
      { object: "text_completion", choices: [{ index: 0, text: "ok", finish_reason: "stop" }], usage: null },
      { choices: [{ index: 1, text: "ok" }], usage: null },
      { choices: [], usage: { total_tokens: 7 } },
    ]);
  });

  it("refuses what it cannot do, naming it", async () => {
    const cases: [Json, string][] = [
      [{}, "Invalid 'prompt': expected a text, token ids, or a list of them, not empty."],
      [{ prompt: [] }, "Invalid 'prompt': expected a text, token ids, or a list of them, not empty."],
      [{ prompt: [-1] }, "Invalid 'prompt': expected a text, token ids, or a list of them, not empty."],
      [{ prompt: "a", suffix: "b" }, "'suffix' is not supported: the model only continues. Leave it out."],
      [{ prompt: "a", best_of: 3 }, "'best_of' is not supported. Ask for 'n' replies and choose among them."],
      [{ prompt: ["a", "b"], n: 100 }, "Invalid 'n': 2 prompts times 100 are more than 128 replies."],
    ];
    for (const [body, message] of cases) {
      const { status, error } = await client.refusal(path, body);
      expect([status, error.message]).toEqual([400, message]);
    }
  });
});

describe("a prompt that repeats a recorded reply", () => {
  const codec = tinyFormat(chatmlTemplate);
  let engine: ScriptedEngine;
  let store: MemoryStore;
  let post: (body: Json) => Promise<string>;
  beforeEach(async () => {
    engine = new ScriptedEngine(codec);
    engine.contextLength = 1_000_000;
    store = new MemoryStore();
    const app = createApp({ store, model: engine.model, clock: systemClock, entropy: systemEntropy });
    await app.request("/api/rollouts", { method: "POST", body: JSON.stringify([{ rollout_id: "r", input: 1 }]) });
    post = async (body) => {
      const response = await app.request(path, { method: "POST", body: JSON.stringify({ max_tokens: 99, ...body }) });
      const { choices } = (await response.json()) as { choices: { text: string }[] };
      return choices[0]?.text ?? "";
    };
  });
  const links = async () => (await store.calls("r")).map((call) => [call.parent, call.prefixLength, call.breakReason]);
  const prompts = async () => (await store.calls("r")).map(({ tokens }) => [...tokens.promptIds]);

  it("continues its very tokens, the one that ended it left out", async () => {
    engine.texts.push("Thought: add\nAction: calc", "Answer: 5");
    const first = await post({ prompt: "Q: 2+3?\n" });
    await post({ prompt: `Q: 2+3?\n${first}\nObservation: 5\n` });
    const [a, b] = await store.calls("r");
    const said = [...(a?.tokens.promptIds ?? []), ...(a?.tokens.replyIds.slice(0, -1) ?? [])];
    expect((await prompts())[1]?.slice(0, said.length)).toEqual(said);
    expect((await links())[1]).toEqual([a?.id, said.length, null]);
    expect(engine.decode(b?.tokens.promptIds.slice(said.length) ?? [])).toBe("\nObservation: 5\n");
  });

  it("continues as much of it as is repeated, whole characters only", async () => {
    engine.texts.push("Thought: caf\u00e9 \u4f60\u597d and more", "x");
    await post({ prompt: "Q" });
    await post({ prompt: "QThought: caf\u00e9 \u4f60\u597d and\nObservation" });
    const [a, b] = await store.calls("r");
    expect(b?.parent).toBe(a?.id);
    const shared = b?.prefixLength ?? 0;
    expect(engine.decode(b?.tokens.promptIds.slice(0, shared) ?? [])).toMatch(/^QThought: caf\u00e9 \u4f60\u597d/);
    expect(engine.decode(b?.tokens.promptIds ?? [])).toBe("QThought: caf\u00e9 \u4f60\u597d and\nObservation");
  });

  it("continues nothing when it is edited, another, or the same once more", async () => {
    await post({ prompt: "The question is this: a" });
    await post({ prompt: "The question is this: b" });
    await post({ prompt: "Something else" });
    await post({ prompt: "The question is this: a" });
    expect(await links()).toEqual([
      [null, 0, null],
      [null, 0, "edited"],
      [null, 0, "side"],
      [null, 0, null],
    ]);
  });

  it("as ids continues them, too", async () => {
    await post({ prompt: [5, 6, 7] });
    const [a] = await store.calls("r");
    await post({ prompt: [5, 6, 7, ...(a?.tokens.replyIds ?? []), 8] });
    await post({ prompt: [9] });
    expect((await links()).slice(1)).toEqual([
      [a?.id, 3 + (a?.tokens.replyIds.length ?? 0), null],
      [null, 0, "side"],
    ]);
  });
});
