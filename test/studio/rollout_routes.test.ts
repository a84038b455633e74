// Plan: a rollout call by call; tokens with their texts, what is shared left out; read again when something happened; what
// the present weights say of a reply.
import { describe, expect, it } from "vitest";
import { finished, StudioWorld, spoken } from "./studio_world.ts";

describe("a rollout", () => {
  const first = spoken("k1", "r", "é?", "a😀b");
  const prompt = [...first.tokens.promptIds, ...first.tokens.replyIds, ...[..."more"].map((c) => c.charCodeAt(0))];

  async function conversation(): Promise<StudioWorld> {
    const made = new StudioWorld();
    await made.store.append([
      ...finished("r", "g", 1).slice(0, 2),
      { type: "call_recorded", call: first },
      {
        type: "call_recorded",
        call: {
          ...spoken("k2", "r", "é?", "end", { parent: "k1", prefixLength: first.tokens.promptIds.length + 5 }),
          tokens: { ...spoken("k2", "r", "", "end").tokens, promptIds: Int32Array.from(prompt) },
        },
      },
      { type: "call_recorded", call: spoken("k3", "r", "new", "z", { breakReason: "edited" }) },
    ]);
    return made;
  }

  it("stands call by call with links, breaks and previews, its tree in lengths", async () => {
    const { body, status } = await (await conversation()).get("rollouts/r");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      line: { id: "r", calls: 3, breaks: 1, update: null },
      input: { question: "hello" },
      calls: [
        { id: "k1", parent: null, lineage: 0, break: null, preview: "a😀b", replyTokens: 5 },
        { id: "k2", parent: "k1", prefix: first.tokens.promptIds.length + 5, lineage: 0 },
        { id: "k3", parent: null, lineage: 1, break: "edited" },
      ],
      failures: [],
      forks: [],
    });
    const { tree, calls } = body as { tree: { nodes: { length: number; start: number }[] }; calls: object[] };
    expect(tree.nodes.reduce((sum, node) => sum + node.length, 0)).toBeLessThan(100);
    expect(calls[0]).not.toHaveProperty("prompt");
    expect((await (await conversation()).get("rollouts/none")).status).toBe(404);
  });

  it("shows a call's tokens after what it shares, their texts joined exactly the text", async () => {
    const made = await conversation();
    const { body } = await made.get("rollouts/r/calls/k2");
    expect(body).toMatchObject({ from: first.tokens.promptIds.length + 5, prompt: { texts: ["m", "o", "r", "e"] } });
    const whole = (await made.get("rollouts/r/calls/k2?whole=true")).body as {
      from: number;
      prompt: { texts: string[] };
    };
    expect(whole.from).toBe(0);
    expect(whole.prompt.texts.join("")).toContain("[user]é?[assistant]a");
    const { body: one } = await made.get("rollouts/r/calls/k1");
    expect(one).toMatchObject({
      reply: { versions: [3, 3, 3, 3, 3] },
      messages: [{ role: "user", content: "é?" }],
      delivered: { role: "assistant", content: "a😀b" },
    });
    expect((await made.get("rollouts/r/calls/k9")).status).toBe(404);
    const all = (await made.get("rollouts/r?tokens=true")).body as { calls: { reply: { ids: number[] } }[] };
    expect(all.calls.map(({ reply }) => reply.ids.length)).toEqual([5, 4, 2]);
  });

  it("is read again when something happened to it", async () => {
    const made = await conversation();
    await made.get("rollouts/r");
    await made.store.append([{ type: "call_recorded", call: spoken("k4", "r", "x", "y") }]);
    expect(((await made.get("rollouts/r")).body as { calls: unknown[] }).calls).toHaveLength(4);
  });

  it("is scored again by the present weights, entropies included", async () => {
    const made = await conversation();
    made.engine.score = async ({ ids, temperature }) => ({
      logprobs: Float32Array.from(ids, (_, i) => (i === ids.length - 1 ? Number.NEGATIVE_INFINITY : -temperature)),
      entropies: Float32Array.from(ids, () => 0.5),
    });
    expect((await made.get("rollouts/r/calls/k3/score")).body).toEqual({
      version: 1,
      logprobs: [-1, -Number.MAX_VALUE],
      entropies: [0.5, 0.5],
    });
    const without = new StudioWorld({ model: null });
    await without.store.append(finished("a", "g", 1));
    expect((await without.get("rollouts/a/calls/a-c/score")).status).toBe(409);
  });
});
