import { describe, expect, it } from "vitest";
import { awaitRollouts } from "../../src/rollout/await_rollouts.ts";
import { StoreClient } from "../../src/rollout/store_client.ts";
import { newRollout } from "../../src/schema/rollout.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { ManualClock, settle } from "./manual_clock.ts";

async function waiting(ids: string[], noRunnerMs = 0) {
  const store = new MemoryStore();
  const clock = new ManualClock();
  const client = new StoreClient({ store, clock, gatewayUrl: "http://gw", keyOf: () => "k" });
  for (const id of ids) await store.append([{ type: "rollout_created", rollout: newRollout({ input: 1 }, id, 0) }]);
  const finished: [string, string | undefined][] = [];
  const stopper = new AbortController();
  const done = awaitRollouts(client, ids, {
    clock,
    signal: stopper.signal,
    noRunnerMs,
    onFinished: (id, rollout) => finished.push([id, rollout?.status.state]),
  });
  done.catch(() => undefined);
  await settle();
  return { store, clock, client, finished, stopper, done };
}

describe("awaitRollouts", () => {
  it("tells each end once, ended before, later, or deleted", async () => {
    const { client, store, finished, done } = await waiting(["a", "b", "c"]);
    await client.patch("b", { state: "failed" });
    await client.patch("a", { state: "running" });
    await client.postEvent("a", "0", { event_type: "reward", data: { value: 1 } });
    await client.patch("a", { state: "succeeded" });
    await client.patch("a", { error_message: "late note" });
    await store.append([{ type: "rollout_deleted", rolloutId: "c", at: 1 }]);
    await done;
    expect(finished.sort()).toEqual([
      ["a", "succeeded"],
      ["b", "failed"],
      ["c", undefined],
    ]);
  });

  it("needs nothing to happen when all have ended already", async () => {
    const { client, clock } = await waiting(["a"]);
    await client.patch("a", { state: "failed" });
    const ended: string[] = [];
    const signal = new AbortController().signal;
    await awaitRollouts(client, ["a"], { clock, signal, noRunnerMs: 1000, onFinished: (id) => ended.push(id) });
    expect(ended).toEqual(["a"]);
    expect(clock.waiting).toBe(0);
  });

  it("says that no runner is connected", async () => {
    const { clock, done } = await waiting(["a", "b"], 30_000);
    await clock.advance(30_000);
    await expect(done).rejects.toThrow(
      "No runner connected: 2 rollouts have been queuing for 30 s. Start a controller for this gateway, or raise its queue limit.",
    );
  });

  it("waits on while a runner works, however slowly", async () => {
    const { clock, client, done } = await waiting(["a", "b"], 30_000);
    await client.patch("a", { state: "running" });
    await clock.advance(120_000);
    await client.patch("a", { state: "succeeded" });
    await client.patch("b", { state: "failed" });
    await done;
  });

  it("ends when it is cancelled", async () => {
    const { stopper, done } = await waiting(["a"], 30_000);
    stopper.abort();
    await expect(done).rejects.toMatchObject({ code: "cancelled" });
  });
});
