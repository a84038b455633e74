/**
 * The controller's decisions: what starts when, and what is tried again. Attempts are faked; the store is real.
 */
import { describe, expect, it } from "vitest";
import { fakeRig, wrapped } from "./fake_rig.ts";
import { ManualClock, settle } from "./manual_clock.ts";

describe("starting", () => {
  it("takes what waits already and what comes later, without looking again and again", async () => {
    let lists = 0;
    const { rig, runner } = fakeRig({
      clock: new ManualClock(),
      wrap: (own) =>
        wrapped(own, {
          list(states) {
            lists++;
            return own.list(states);
          },
        }),
    });
    await rig.enqueue("early");
    rig.start();
    await runner.started("early/0");
    await rig.enqueue("late");
    await runner.started("late/0");
    expect(lists).toBe(1);
    expect((await rig.rollout("late")).status).toMatchObject({ state: "running", last_attempt_id: "0" });
  });

  it("leaves alone what somebody else runs", async () => {
    const { rig, runner } = fakeRig({});
    await rig.enqueue("theirs", { metadata: { runner: "external" } });
    await rig.enqueue("ours");
    rig.start();
    await runner.started("ours/0");
    await settle();
    expect(runner.ids).toEqual(["ours/0"]);
    expect((await rig.rollout("theirs")).status.state).toBe("queuing");
  });

  it("never runs more than its concurrency, in order of creation", async () => {
    const { rig, runner } = fakeRig({ concurrency: 2 });
    for (const id of ["a", "b", "c", "d"]) await rig.enqueue(id);
    rig.start();
    await runner.started("b/0");
    await settle();
    expect(runner.ids).toEqual(["a/0", "b/0"]);
    (await runner.started("b/0")).exit(0);
    await runner.started("c/0");
    expect(runner.ids).toEqual(["a/0", "b/0", "c/0"]);
    expect(rig.controller.stats()).toMatchObject({ queued: 1, running: 2, succeeded: 1 });
  });

  it("lets few start at once: the next after a sign of life, an end, or the window", async () => {
    const clock = new ManualClock();
    const { rig, runner } = fakeRig({ clock, concurrency: 10, startConcurrency: 1, startWindowMs: 400 });
    for (const id of ["a", "b", "c", "d"]) await rig.enqueue(id);
    rig.start();
    await runner.started("a/0");
    await clock.advance(399);
    expect(runner.ids).toEqual(["a/0"]);
    await clock.advance(1);
    expect(runner.ids).toEqual(["a/0", "b/0"]);
    rig.controller.noteActivity("b");
    await settle();
    expect(runner.ids).toEqual(["a/0", "b/0", "c/0"]);
    (await runner.started("c/0")).exit(0);
    await rig.outcome("c");
    await settle();
    expect(runner.ids).toEqual(["a/0", "b/0", "c/0", "d/0"]);
    expect(rig.controller.stats().starting).toBe(1);
  });

  it("takes a call that waits for its reply for a sign of life", async () => {
    const clock = new ManualClock();
    const calling = new Set<string>();
    const waitingCalls = (id: string, attempt: string) => Number(calling.has(`${id}/${attempt}`));
    const { rig, runner } = fakeRig({ clock, startConcurrency: 1, startWindowMs: 60_000, waitingCalls });
    await rig.enqueue("a");
    await rig.enqueue("b");
    rig.start();
    await runner.started("a/0");
    await clock.advance(1000);
    calling.add("a/1");
    await clock.advance(1000);
    expect(runner.ids).toEqual(["a/0"]);
    calling.add("a/0");
    await clock.advance(20);
    expect(runner.ids).toEqual(["a/0", "b/0"]);
  });

  it("takes a recorded event for a sign of life", async () => {
    const clock = new ManualClock();
    const { rig, runner } = fakeRig({ clock, startConcurrency: 1 });
    await rig.enqueue("a");
    await rig.enqueue("b");
    rig.start();
    await runner.started("a/0");
    expect(runner.attempts[0] && (await runner.attempts[0].watch.activity())).toBe(0);
    await rig.client.postEvent("a", "0", { event_type: "model_request", data: {} });
    await runner.started("b/0");
    expect(runner.attempts[0] && (await runner.attempts[0].watch.activity())).toBe(1);
  });

  it("fails a rollout that waited too long, and says so", async () => {
    const clock = new ManualClock();
    const { rig, runner } = fakeRig({ clock, concurrency: 1, limits: { queueMs: 60_000 } });
    await rig.enqueue("a");
    await rig.enqueue("b");
    rig.start();
    await runner.started("a/0");
    await clock.advance(60_000);
    expect((await rig.rollout("b")).status).toMatchObject({
      state: "failed",
      error_message: "queue_timeout: The rollout timed out in the queue: not started within 60 s.",
    });
    (await runner.started("a/0")).exit(0);
    await rig.outcome("a");
    expect(runner.ids).toEqual(["a/0"]);
  });

  it("waits for the limit of no rollout that was started: shutdown is at once", async () => {
    const { rig, runner } = fakeRig({ clock: new ManualClock(), limits: { queueMs: 60_000 } });
    rig.start();
    await rig.enqueue("a");
    (await runner.started("a/0")).exit(0);
    await rig.outcome("a");
    await rig.stop();
  });
});

describe("attempts", () => {
  it.each([
    [500, 0, 500],
    [500, 2, 500],
    [5000, 2, 2000],
    [0, 2, 2000],
    [0, 0, 0],
  ])(
    "with a limit of %i ms and a rollout's own of %i s run at most %i ms (0: without end)",
    async (runMs, own, limit) => {
      const { rig, runner } = fakeRig({ limits: { runMs } });
      rig.start();
      await rig.enqueue("a", { config: { timeout_seconds: own, local: null, k8s: null } });
      expect((await runner.started("a/0")).spec.limits.runMs).toBe(limit);
    },
  );

  it("makes a new attempt with a new id after the machine's faults only", async () => {
    const { rig, runner } = fakeRig({ retries: { infrastructure: 1 } });
    rig.start();
    await rig.enqueue("a");
    (await runner.started("a/0")).killed("SIGKILL");
    const second = await runner.started("a/1");
    expect((await rig.rollout("a")).status).toMatchObject({ state: "running", last_attempt_id: "1" });
    expect(second.spec.access.eventUrl).toContain("/attempt/1/events");
    second.killed("SIGKILL");
    expect(await rig.outcome("a")).toMatchObject({ attemptId: "1", failure: { code: "agent_killed" } });
  });

  it("ignores what an old attempt still does: only the current one decides", async () => {
    const { rig, runner } = fakeRig({ reward: "agent" });
    rig.start();
    await rig.enqueue("a");
    const first = await runner.started("a/0");
    await rig.client.postEvent("a", "0", { event_type: "reward", data: { value: 1 } });
    first.killed("SIGKILL");
    const second = await runner.started("a/1");
    first.exit(0);
    await rig.client.postEvent("a", "0", { event_type: "reward", data: { value: 1 } });
    await rig.client.postEvent("a", "1", { event_type: "reward", data: { value: 0.25 } });
    second.exit(0);
    expect(await rig.outcome("a")).toMatchObject({ attemptId: "1", reward: { value: 0.25 } });
  });

  it("says when output could not be written, and judges the agent all the same", async () => {
    const { rig, runner } = fakeRig();
    rig.start();
    await rig.enqueue("a");
    (await runner.started("a/0")).exitWithLostOutput("no space left on device");
    expect(await rig.outcome("a")).toMatchObject({
      state: "succeeded",
      exit: { outputError: "no space left on device" },
    });
    const errors = rig.reports.flatMap((report) => (report.kind === "error" ? [report.error.message] : []));
    expect(errors).toEqual(["Part of the output of rollout a's agent was not written: no space left on device."]);
  });

  it("blames the model, not the agent, when the agent's last call got a server error", async () => {
    const { rig, runner } = fakeRig({ retries: {} });
    rig.start();
    await rig.enqueue("a");
    const attempt = await runner.started("a/0");
    const failed = { code: "device_lost", message: "", latencyMs: 1, retryCount: 0, timestamp: Date.now() / 1000 + 1 };
    await rig.store.append([
      { type: "call_failed", failure: { ...failed, rolloutId: "a", attemptId: "0", httpStatus: 503 } },
    ]);
    attempt.exit(1);
    expect((await rig.outcome("a")).failure).toEqual({
      code: "model_unavailable",
      class: "infrastructure",
      message: "The agent exited with code 1 after its model answered 503.",
    });
  });
});
