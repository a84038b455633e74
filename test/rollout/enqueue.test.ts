import { describe, expect, it } from "vitest";
import { enqueueEvents } from "../../src/rollout/enqueue.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";

describe("enqueueEvents", () => {
  it("creates what onEnqueue returns, under the caller's id", async () => {
    const store = new MemoryStore();
    const onEnqueue = (create: object) => ({ ...create, rollout_id: "other", input: 2, metadata: { seen: true } });
    await store.append(await enqueueEvents([{ rollout_id: "a", input: 1 }], { onEnqueue }, 7));
    const [rollout] = await store.rollouts();
    expect(rollout).toMatchObject({ rollout_id: "a", input: 2, metadata: { seen: true } });
    expect(rollout?.status).toMatchObject({ state: "queuing", created_at: 7 });
  });

  it("creates and fails a rollout whose hook throws, and goes on", async () => {
    const store = new MemoryStore();
    const onEnqueue = async (create: { rollout_id?: string | null; input: unknown }) => {
      if (create.rollout_id === "bad") throw new Error("refused");
      return create;
    };
    const creates = ["bad", "good"].map((id) => ({ rollout_id: id, input: id }));
    await store.append(await enqueueEvents(creates, { onEnqueue }, 7));
    const rollouts = await store.rollouts();
    expect(rollouts.map(({ rollout_id: id, status }) => [id, status.state])).toEqual([
      ["bad", "failed"],
      ["good", "queuing"],
    ]);
    expect(rollouts[0]?.status.error_message).toBe("hook_failed: Hook onEnqueue failed on rollout bad: refused");
  });

  it("needs no hooks", async () => {
    expect(await enqueueEvents([{ rollout_id: "a", input: 1 }], {}, 7)).toHaveLength(1);
  });
});
