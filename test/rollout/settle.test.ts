/** Rewards by source, and the hooks after a rollout: what they may add and what their exceptions do. */
import { describe, expect, it } from "vitest";
import { type BoundGrader, bindGrader } from "../../src/rollout/graders/registry.ts";
import type { RolloutHooks } from "../../src/rollout/hooks.ts";
import type { RewardSource } from "../../src/schema/wire.ts";
import { FakeRunner } from "./fake_runner.ts";
import { MemoryFiles } from "./memory_files.ts";
import { Rig, type RigOptions } from "./rig.ts";

const numeric = bindGrader("numeric", {});

/** One rollout whose agent says `reply` and exits with `code`. */
async function finish(options: RigOptions, reply: string, code = 0, source?: RewardSource, posted: object[] = []) {
  const runner = new FakeRunner();
  const rig = new Rig({ runner, files: new MemoryFiles(), ...options });
  rig.start();
  const config = { timeout_seconds: 0, local: null, k8s: null, ...(source && { reward: { source } }) };
  await rig.enqueue("r1", { input: { data_id: "t1" }, hidden: { answer: "42" }, config });
  const attempt = await runner.started("r1/0");
  const response = { choices: [{ message: { role: "assistant", content: reply } }] };
  await rig.client.postEvent("r1", "0", {
    event_type: "model_request",
    data: { request: { messages: [] }, response, http_status: 200, status: "ok" },
  });
  for (const data of posted) await rig.client.postEvent("r1", "0", { event_type: "reward", data: { ...data } });
  attempt.exit(code);
  const outcome = await rig.outcome("r1");
  const events = (await rig.client.events("r1", "0")).slice(1);
  return { outcome, events, status: (await rig.rollout("r1")).status };
}

describe("reward sources", () => {
  it("grader: judges the final message by the hidden truth and posts the reward", async () => {
    const { outcome, events } = await finish({ reward: "grader", grader: numeric }, "It is 42.");
    expect(outcome).toMatchObject({ state: "succeeded", reward: { value: 1, source: "grader", reason: "match" } });
    expect(events).toMatchObject([
      { event_type: "reward", data: { value: 1, source: "grader", reason: "match" }, attempt_id: "0" },
    ]);
  });

  it("exit: every exit code is a measurement", async () => {
    const good = await finish({ reward: "exit" }, "");
    expect(good.events).toMatchObject([{ data: { value: 1, source: "exit", reason: "exit_0" } }]);
    const bad = await finish({ reward: "exit" }, "", 3);
    expect(bad.outcome).toMatchObject({ state: "succeeded", failure: null });
    expect(bad.events).toMatchObject([{ data: { value: 0, source: "exit", reason: "exit_3" } }]);
  });

  it("agent: the agent's last reward stands; none is said", async () => {
    const { outcome, events } = await finish({ reward: "agent" }, "");
    expect(outcome.reward).toEqual({ value: null, source: "agent", reason: "no_reward" });
    expect(events).toEqual([]);
  });

  it("a rollout's own source wins over the controller's", async () => {
    const { outcome } = await finish({ reward: "grader", grader: numeric }, "", 0, "exit");
    expect(outcome.reward).toMatchObject({ source: "exit", value: 1 });
  });

  it("a rollout fails when its grader cannot judge, with the reason", async () => {
    const grader = bindGrader("numeric", { field: "truth" });
    const { outcome, events, status } = await finish({ reward: "grader", grader }, "");
    expect(outcome).toMatchObject({ state: "failed", failure: { class: "grader" }, reward: null });
    expect(status.error_message).toBe(
      'grader_failed: Grader "numeric": task t1 has no hidden field "truth". Set graderOptions.field.',
    );
    expect(events).toEqual([]);
  });

  it("a rollout fails when a grader throws or returns no number", async () => {
    const throwing: BoundGrader = { name: "mine", grade: () => Promise.reject(new TypeError("x is undefined")) };
    expect((await finish({ reward: "grader", grader: throwing }, "")).outcome.failure?.message).toBe(
      'Grader "mine": it threw "x is undefined". Correct the grader.',
    );
    for (const value of [Number.NaN, -1e308]) {
      const grader: BoundGrader = { name: "mine", grade: async () => ({ value, reason: "" }) };
      expect((await finish({ reward: "grader", grader }, "")).outcome.failure?.message).toBe(
        `Grader "mine": it returned ${value} as a reward. Return a finite number, 1000000000000 in size at most.`,
      );
    }
  });

  it("a rollout fails when its source is a grader and there is none", async () => {
    const { status } = await finish({ reward: "grader" }, "");
    expect(status.error_message).toBe(
      'grader_failed: Grader "(none)": reward.source is grader. Name one in task.grader.',
    );
  });
});

describe("a posted reward", () => {
  const post = (value: number): RolloutHooks => ({
    onSucceeded: ({ addEvent }) => addEvent({ event_type: "reward", data: { value } }),
    onFailed: ({ addEvent }) => addEvent({ event_type: "reward", data: { value } }),
  });

  it("is the result's as it is the trainer's, of an agent that failed after it too", async () => {
    const reward = { value: 1, source: "agent", reason: "posted" };
    const ended = await finish({ reward: "agent" }, "", 1, undefined, [{ value: 1 }]);
    expect(ended.outcome).toMatchObject({ state: "failed", failure: { code: "agent_exit" }, reward });
    const throwing: RolloutHooks = { onSucceeded: () => Promise.reject(new Error("no")) };
    expect(
      (await finish({ reward: "agent", hooks: throwing }, "", 0, undefined, [{ value: 1 }])).outcome,
    ).toMatchObject({
      ...{ state: "failed", failure: { code: "hook_failed" }, reward },
    });
    expect((await finish({ reward: "agent" }, "", 1)).outcome.reward).toBeNull();
  });

  it("of a hook comes after the one that was decided", async () => {
    for (const code of [0, 1]) {
      const { outcome } = await finish({ reward: "grader", grader: numeric, hooks: post(0.5) }, "42", code);
      expect(outcome.reward).toEqual({ value: 0.5, source: "grader", reason: "posted" });
    }
  });
});

describe("hooks", () => {
  it("onSucceeded sees the events and adds its own", async () => {
    const seen: string[] = [];
    const hooks: RolloutHooks = {
      onSucceeded({ rollout, attemptId, events, addEvent }) {
        seen.push(rollout.rollout_id, attemptId, ...events.map((event) => event.event_type));
        addEvent({ event_type: "reward", data: { value: 0.5, source: "hook" } });
      },
    };
    const { events } = await finish({ reward: "agent", hooks }, "");
    expect(seen).toEqual(["r1", "0", "model_request"]);
    expect(events).toMatchObject([{ event_type: "reward", data: { value: 0.5, source: "hook" } }]);
  });

  it("onSucceeded that throws fails the rollout, whose reward is not written", async () => {
    const hooks: RolloutHooks = {
      onSucceeded() {
        throw new TypeError("x is not a function");
      },
    };
    const { outcome, events, status } = await finish({ reward: "exit", hooks }, "");
    expect(outcome).toMatchObject({ state: "failed", reward: null, failure: { code: "hook_failed", class: "hook" } });
    expect(status.error_message).toBe("hook_failed: Hook onSucceeded failed on rollout r1: x is not a function");
    expect(events).toEqual([]);
  });

  it("onFailed is told the failure and adds events", async () => {
    const hooks: RolloutHooks = {
      onFailed: ({ addEvent }, failure) => addEvent({ event_type: "note", data: { code: failure.code } }),
    };
    const { events, status } = await finish({ reward: "agent", hooks }, "", 3);
    expect(events).toMatchObject([{ event_type: "note", data: { code: "agent_exit" } }]);
    expect(status.state).toBe("failed");
  });

  it("onFailed that throws keeps the first failure in the message", async () => {
    const hooks: RolloutHooks = { onFailed: () => Promise.reject(new Error("no disk")) };
    const { outcome } = await finish({ reward: "agent", hooks }, "", 3);
    expect(outcome.failure).toEqual({
      code: "hook_failed",
      class: "hook",
      message: "The agent exited with code 3. Then: Hook onFailed failed on rollout r1: no disk",
    });
  });
});
