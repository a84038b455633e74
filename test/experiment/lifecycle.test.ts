import { describe, expect, it } from "vitest";
import { Completion } from "../../src/experiment/completion.ts";
import { lifecycleMetrics } from "../../src/experiment/lifecycle.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { rollout } from "../store/samples.ts";

describe("lifecycleMetrics", () => {
  it("has mean, p50, p90 and max of waiting, running and both", () => {
    const lives = Array.from({ length: 10 }, (_, i) => ({ created: 0, running: i + 1, finished: 2 * (i + 1) }));
    const metrics = lifecycleMetrics([...lives, { created: 0, running: null, finished: 100 }]);
    expect(metrics).toMatchObject({
      "timing/rollout_n_missing_running_ts": 1,
      "timing/rollout_queue_wait_s/mean": 5.5,
      "timing/rollout_queue_wait_s/p50": 5,
      "timing/rollout_queue_wait_s/p90": 9,
      "timing/rollout_queue_wait_s/max": 10,
      "timing/rollout_run_duration_s/mean": 5.5,
      "timing/rollout_total_s/max": 100,
    });
    expect(lifecycleMetrics([])["timing/rollout_total_s/mean"]).toBe(0);
  });

  it("leaves out what the program stood still, which is asked for in milliseconds", () => {
    const lives = [
      { created: 0, running: 10, finished: 30 },
      { created: 5, running: 6, finished: 7 },
    ];
    const [from, to] = [8_000, 26_000];
    const stoodStill = (a: number, b: number) => Math.max(0, Math.min(b, to) - Math.max(a, from));
    expect(lifecycleMetrics(lives, { stoodStill })).toMatchObject({
      "timing/rollout_queue_wait_s/max": 8,
      "timing/rollout_run_duration_s/max": 4,
      "timing/rollout_run_duration_s/p50": 1,
      "timing/rollout_total_s/max": 12,
    });
    // A clock that was set in between says more than has passed.
    expect(lifecycleMetrics(lives, { stoodStill: () => 60_000 })["timing/rollout_total_s/max"]).toBe(0);
  });
});

describe("Completion", () => {
  it("knows when a group's rollouts started and ended, whatever is patched later", async () => {
    const store = new MemoryStore();
    const patch = (at: number, change: object) =>
      store.append([{ type: "rollout_patched", rolloutId: "a", patch: change, at }]);
    const completion = new Completion(store);
    const group = { id: "g", task: { id: "t", input: {}, hidden: {} }, rolloutIds: ["a"] };
    await store.append([{ type: "rollout_created", rollout: rollout("a") }]);
    await patch(1010, { state: "running", last_attempt_id: "0" });
    await completion.catchUp();
    expect([completion.isComplete(group), completion.livesOf(group)]).toEqual([false, []]);
    await patch(1012, { last_attempt_id: "1" });
    await patch(1020, { state: "succeeded" });
    await completion.catchUp();
    await patch(1030, { error_message: "late" });
    await completion.catchUp();
    expect(completion.isComplete(group)).toBe(true);
    expect(completion.livesOf(group)).toEqual([{ created: 1000, running: 1010, finished: 1020 }]);
    const late = new Completion(store);
    await late.catchUp();
    expect(late.livesOf(group)[0]?.running).toBe(1010);
    await store.append([{ type: "rollout_deleted", rolloutId: "a", at: 1040 }]);
    await completion.catchUp();
    expect(completion.isComplete(group)).toBe(false);
    await store.close();
  });
});
