/** Models by name: the policy, others of our own, registered endpoints, aliases; and what is not served at all. */
import { describe, expect, it } from "vitest";
import { createApp } from "../../gateway/app.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { FakeEngine, fakeModel } from "./fake_model.ts";
import { completion } from "./protocol/stub_upstream.ts";

type Json = Record<string, unknown>;

class World {
  readonly policy = new FakeEngine();
  readonly frozen = new FakeEngine();
  readonly store: MemoryStore;
  /** Prompts that the frozen model's codec made. */
  frozenPrompts = 0;
  readonly sent: { url: string; body: Json }[] = [];
  readonly app: ReturnType<typeof createApp>;

  constructor(store = new MemoryStore()) {
    this.store = store;
    this.policy.script = () => "policy";
    this.frozen.script = () => "frozen";
    const frozen = fakeModel(this.frozen);
    const encodeRequest: typeof frozen.codec.encodeRequest = (...args) => {
      this.frozenPrompts++;
      return frozen.codec.encodeRequest(...args);
    };
    this.app = createApp({
      store,
      model: fakeModel(this.policy),
      others: { "policy-frozen": { ...frozen, codec: { ...frozen.codec, encodeRequest } } },
      clock: systemClock,
      entropy: systemEntropy,
      config: { aliases: { "small-model": "policy-frozen" } },
      fetch: async (url, init) => {
        this.sent.push({ url, body: JSON.parse(String(init.body)) as Json });
        return Response.json(completion([1], [2]));
      },
    });
  }

  async post(path: string, body: unknown): Promise<Response> {
    return await this.app.request(`http://x${path}`, { method: "POST", body: JSON.stringify(body) });
  }

  async say(model: string | undefined, more: Json = {}, path = "/r/r/0/train/v1/chat/completions"): Promise<unknown> {
    const response = await this.post(path, { model, messages: [{ role: "user", content: "hi" }], ...more });
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
    return choices[0]?.message.content;
  }
}

async function world(): Promise<World> {
  const made = new World();
  await made.post("/api/rollouts", [{ rollout_id: "r", input: 1 }]);
  return made;
}

describe("a model's name", () => {
  it("means the policy unless it is another's exact name, or an alias of one", async () => {
    const { say, store, frozen } = bound(await world());
    expect([await say(undefined), await say("gpt-5"), await say("policy")]).toEqual(["policy", "policy", "policy"]);
    expect([await say("policy-frozen", { top_p: 0.5 }), await say("small-model")]).toEqual(["frozen", "frozen"]);
    const calls = await store.calls("r");
    expect(calls.map(({ policy, own }) => [policy, own])).toEqual([
      ["policy", true],
      ["policy", true],
      ["policy", true],
      ["policy-frozen", false],
      ["policy-frozen", false],
    ]);
    // What is not trained is sampled as the harness asks.
    expect(frozen.requests[0]?.sampling).toMatchObject({ temperature: 1, topP: 0.5 });
    expect(calls[3]?.overridden).toEqual({});
  });

  it("in a count of tokens means that model's tokenizer", async () => {
    const made = await world();
    const { post } = bound(made);
    const counted: unknown[] = [];
    const body = { model: "small-model", messages: [{ role: "user", content: "hi" }] };
    counted.push(await (await post("/r/r/0/train/v1/messages/count_tokens", body)).json());
    const contents = [{ parts: [{ text: "hi" }] }];
    counted.push(await (await post("/v1beta/models/policy-frozen:countTokens", { contents })).json());
    expect(counted).toEqual([{ input_tokens: 19 }, { totalTokens: 19 }]);
    expect(made.frozenPrompts).toBe(2);
    await post("/v1/messages/count_tokens", { ...body, model: "any" });
    expect(made.frozenPrompts).toBe(2);
  });

  it("keeps conversations with several models apart, and each is continued", async () => {
    const { app, store, say } = bound(await world());
    const next = (reply: string) => [
      { role: "user", content: "hi" },
      { role: "assistant", content: reply },
      { role: "user", content: "go on" },
    ];
    await say("policy");
    await say("policy-frozen");
    await say("policy-frozen", { messages: next("frozen") });
    await say("policy", { messages: next("policy") });
    await say("policy", { messages: next("frozen") });
    const calls = await store.calls("r");
    const [a, b, c, d, e] = calls;
    expect([c?.parent, d?.parent, e?.parent]).toEqual([b?.id, a?.id, null]);
    expect(app).toBeDefined();
    const later = bound(new World(store));
    await later.say("policy-frozen", { messages: next("frozen") });
    expect((await store.calls("r"))[5]?.parent).toBe(b?.id);
  });

  it("of an endpoint sends the call there as it came, and the endpoint outlives the gateway", async () => {
    const first = await world();
    await first.post("/api/models", [{ model: "big", endpoint: "http://up/v1/", version: 3 }]);
    const later = bound(new World(first.store));
    expect(await later.say("big", { temperature: 0.3, stream: false, seed: 1 })).toBe("ok");
    const body = { model: "big", messages: [{ role: "user", content: "hi" }], temperature: 0.3, seed: 1 };
    expect(later.sent).toEqual([{ url: "http://up/v1/chat/completions", body }]);
    expect((await first.store.calls("r"))[0]).toMatchObject({ own: false, policy: "big", overridden: {} });
    expect(await later.say("big", {}, "/v1/chat/completions")).toBe("ok");
    expect(await first.store.calls("r")).toHaveLength(1);
    const list = (await (await later.app.request("http://x/v1/models")).json()) as { data: { id: string }[] };
    expect(list.data.map(({ id }) => id)).toEqual(["policy", "policy-frozen", "big", "small-model"]);
    await later.app.request("http://x/api/models", { method: "DELETE" });
    expect(await bound(new World(first.store)).say("big")).toBe("policy");
  });
});

/** Methods that may be taken apart. */
function bound(world: World) {
  const { app, store, frozen, sent } = world;
  return { app, store, frozen, sent, say: world.say.bind(world), post: world.post.bind(world) };
}

describe("what is not served", () => {
  it.each([
    ["embeddings", "Embeddings are"],
    ["moderations", "Moderation is"],
    ["images/generations", "Images are"],
    ["audio/speech", "Speech is"],
    ["audio/transcriptions", "Speech is"],
    ["files", "Files are"],
    ["files/file-1/content", "Files are"],
    ["batches", "Batches are"],
    ["messages/batches", "Batches are"],
    ["fine_tuning/jobs", "Fine-tuning is"],
    ["rerank", "Ranking is"],
    ["responses/compact", "Compaction is"],
  ])("%s: %s not served here, whatever the method", async (path, subject) => {
    const { app } = bound(await world());
    // GET /v1/responses/ID reads one again.
    const methods = path.startsWith("responses") ? ["POST", "DELETE"] : ["GET", "POST", "DELETE"];
    for (const method of methods) {
      for (const prefix of ["/v1", "", "/r/r/0/train", "/r/r/0/train/v1"]) {
        const response = await app.request(`http://x${prefix}/${path}`, { method });
        expect([response.status, await response.json()], `${method} ${prefix}/${path}`).toMatchObject([
          404,
          {
            error: {
              message: `${subject} not served here: this gateway answers calls of a language model. Point that client at another server.`,
            },
          },
        ]);
      }
    }
  });

  it("is refused in words that say what to do", async () => {
    const { post } = bound(await world());
    for (const path of ["embeddings", "moderations", "images/generations", "audio/speech", "files", "batches"]) {
      for (const prefix of ["", "/r/r/0/train"]) {
        const response = await post(`${prefix}/v1/${path}`, { input: "x" });
        expect([response.status, await response.json()], path).toMatchObject([
          404,
          { error: { code: "not_served", message: expect.stringContaining("Point that client at another server.") } },
        ]);
      }
    }
  });

  it("images are refused from people, and leave a note from tools", async () => {
    const { post, store } = bound(await world());
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } };
    const chat = "/r/r/0/train/v1/chat/completions";
    const refused = await post(chat, { messages: [{ role: "user", content: [{ type: "text", text: "see" }, image] }] });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      {
        error: {
          code: "unsupported_content",
          message: expect.stringContaining("Send text only; the model reads nothing else."),
        },
      },
    ]);
    const source = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA" } };
    const messages = [
      { role: "user", content: "look" },
      { role: "assistant", content: [{ type: "tool_use", id: "t", name: "view", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: [source] }] },
    ];
    expect((await post("/r/r/0/train/v1/messages", { messages, max_tokens: 9 })).status).toBe(200);
    const [call] = (await store.calls("r")).slice(-1);
    const prompt = String.fromCharCode(...(call?.tokens.promptIds ?? []));
    expect(prompt).toContain("[tool][image left out: this model reads text only]");
    const user = await post("/r/r/0/train/v1/messages", {
      messages: [{ role: "user", content: [source] }],
      max_tokens: 9,
    });
    expect(user.status).toBe(400);
  });
});
