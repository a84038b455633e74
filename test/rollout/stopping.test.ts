/** What ends rollouts from outside: deletion, an end written by somebody else, and the controller's own shutdown. */
import { describe, expect, it } from "vitest";
import { fakeRig, wrapped } from "./fake_rig.ts";
import { settle } from "./manual_clock.ts";

describe("what ends a rollout from outside", () => {
  it("does not start a rollout that has ended in the meantime", async () => {
    const { rig, runner } = fakeRig({
      wrap: (own) =>
        wrapped(own, {
          async get(id) {
            const rollout = await own.get(id);
            return rollout && { ...rollout, status: { ...rollout.status, state: "failed" as const } };
          },
        }),
    });
    await rig.enqueue("a");
    rig.start();
    expect((await rig.outcome("a")).failure?.code).toBe("cancelled");
    expect(runner.ids).toEqual([]);
  });

  it("ends the agent of a rollout that was deleted, or that somebody else has ended", async () => {
    const { rig, runner } = fakeRig();
    rig.start();
    await rig.enqueue("gone");
    await rig.enqueue("over");
    await runner.started("gone/0");
    await runner.started("over/0");
    await rig.store.append([{ type: "rollout_deleted", rolloutId: "gone", at: 0 }]);
    await rig.client.patch("over", { state: "failed", error_message: "by hand" });
    expect((await rig.outcome("gone")).failure?.code).toBe("cancelled");
    expect((await rig.outcome("over")).failure?.code).toBe("cancelled");
    expect((await rig.rollout("over")).status.error_message).toBe("by hand");
    expect(rig.controller.stats().undelivered).toBe(2);
  });

  it("forgets a queued rollout that was deleted", async () => {
    const { rig, runner } = fakeRig({ concurrency: 1 });
    for (const id of ["a", "b", "c"]) await rig.enqueue(id);
    rig.start();
    const first = await runner.started("a/0");
    await rig.store.append([{ type: "rollout_deleted", rolloutId: "b", at: 0 }]);
    await settle();
    first.exit(0);
    await runner.started("c/0");
    expect(runner.ids).toEqual(["a/0", "c/0"]);
  });

  it("at shutdown ends all, starts none, and fails what is unfinished", async () => {
    const { rig, runner } = fakeRig({ concurrency: 1 });
    for (const id of ["a", "b"]) await rig.enqueue(id);
    rig.start();
    await runner.started("a/0");
    await rig.stop();
    await rig.enqueue("c");
    expect(runner.ids).toEqual(["a/0"]);
    expect((await rig.rollout("a")).status).toMatchObject({
      state: "failed",
      error_message: "shutdown: The controller shut down.",
    });
    expect((await rig.rollout("b")).status.error_message).toBe(
      "shutdown: The controller shut down before the rollout was started.",
    );
    expect((await rig.rollout("c")).status.state).toBe("queuing");
  });

  it("starts nothing that it learns of while it is told to stop", async () => {
    let looking: (id: string) => void = () => undefined;
    const looked = new Promise<string>((resolve) => {
      looking = resolve;
    });
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { rig, runner } = fakeRig({
      wrap: (own) =>
        wrapped(own, {
          async get(id) {
            looking(id);
            await held;
            return own.get(id);
          },
        }),
    });
    rig.start();
    await settle();
    await rig.enqueue("late");
    expect(await looked).toBe("late");
    const stopped = rig.stop();
    answer();
    await stopped;
    expect(runner.ids).toEqual([]);
    expect((await rig.rollout("late")).status.state).toBe("queuing");
  });

  it("at shutdown leaves what is unfinished for the next controller where that is asked", async () => {
    const { rig, runner } = fakeRig({ concurrency: 1, onShutdown: "leave" });
    for (const id of ["a", "b"]) await rig.enqueue(id);
    rig.start();
    await runner.started("a/0");
    await rig.stop();
    expect((await rig.rollout("a")).status).toMatchObject({ state: "running", last_attempt_id: "0" });
    expect((await rig.rollout("b")).status.state).toBe("queuing");
  });
});
