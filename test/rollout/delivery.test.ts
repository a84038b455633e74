/** Outcomes are decided once: what a restart finds, and how they reach a gateway that fails. */
import { describe, expect, it } from "vitest";
import { LeydenError } from "../../src/core/errors.ts";
import { fakeRig, wrapped } from "./fake_rig.ts";
import { ManualClock } from "./manual_clock.ts";

describe("after a restart", () => {
  it("runs a rollout again, as a new attempt, whose controller is gone", async () => {
    const { rig, runner } = fakeRig();
    await rig.enqueue("a");
    await rig.client.patch("a", { state: "running", last_attempt_id: "0" });
    rig.start();
    (await runner.started("a/1")).exit(0);
    expect(await rig.outcome("a")).toMatchObject({
      state: "succeeded",
      attemptId: "1",
      earlier: [{ code: "orphaned", class: "infrastructure" }],
    });
  });

  it("fails such a rollout where the policy allows no further attempt", async () => {
    const { rig, runner } = fakeRig({ retries: {} });
    await rig.enqueue("a");
    await rig.client.patch("a", { state: "running", last_attempt_id: "0" });
    rig.start();
    expect((await rig.outcome("a")).failure?.code).toBe("orphaned");
    expect(runner.ids).toEqual([]);
  });

  it("delivers an outcome that was decided before, and decides nothing anew", async () => {
    const first = fakeRig({ reward: "exit" });
    first.rig.start();
    await first.rig.enqueue("a");
    (await first.runner.started("a/0")).exit(0);
    const decided = await first.rig.outcome("a");

    const { rig, runner } = fakeRig({ files: first.files });
    await rig.enqueue("a");
    await rig.client.patch("a", { state: "running", last_attempt_id: "0" });
    rig.start();
    expect(await rig.outcome("a")).toEqual(JSON.parse(JSON.stringify(decided)));
    expect(runner.ids).toEqual([]);
    expect((await rig.client.events("a", "0")).map((event) => event.data.value)).toEqual([1]);
  });

  it("reports a result it cannot read and runs the rollout again", async () => {
    const { rig, runner, files } = fakeRig();
    await files.write("/run/attempts/a/0/result.json", '{"format":2}');
    await rig.enqueue("a");
    await rig.client.patch("a", { state: "running", last_attempt_id: "0" });
    rig.start();
    await runner.started("a/1");
    const errors = rig.reports.flatMap((report) => (report.kind === "error" ? [report.error.message] : []));
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/result\.json has format 2; this version reads 1\.$/);
  });
});

describe("delivery", () => {
  it("repeats until the gateway takes it, each wait twice the last; the outcome stays the first", async () => {
    const clock = new ManualClock();
    let refusals = 0;
    const { rig, runner, files } = fakeRig({
      clock,
      wrap: (own) =>
        wrapped(own, {
          patch(id, patch) {
            if (patch.state !== "succeeded" || refusals === 3) return own.patch(id, patch);
            refusals++;
            return Promise.reject(new LeydenError("gateway_unreachable", "no answer"));
          },
        }),
    });
    rig.start();
    await rig.enqueue("a");
    (await runner.started("a/0")).exit(0);
    await clock.advance(0);
    const stored = await files.readText("/run/attempts/a/0/result.json");
    await clock.advance(250);
    await clock.advance(500);
    expect((await rig.rollout("a")).status.state).toBe("running");
    await clock.advance(1000);
    expect((await rig.rollout("a")).status.state).toBe("succeeded");
    expect(await rig.outcome("a")).toEqual(JSON.parse(stored));
    expect((await rig.client.events("a", "0")).map((event) => event.event_type)).toEqual(["reward"]);
    expect(rig.reports.filter((report) => report.kind === "error")).toHaveLength(3);
  });

  it("gives up delivering at shutdown after its time, and says so", async () => {
    const clock = new ManualClock();
    const { rig, runner } = fakeRig({
      clock,
      wrap: (own) =>
        wrapped(own, {
          patch: (id, patch) =>
            patch.state === "succeeded"
              ? Promise.reject(new LeydenError("gateway_unreachable", ""))
              : own.patch(id, patch),
        }),
    });
    rig.start();
    await rig.enqueue("a");
    (await runner.started("a/0")).exit(0);
    await clock.advance(0);
    const stopped = rig.stop();
    await clock.advance(60_000);
    await stopped;
    expect(rig.reports.at(-1)).toMatchObject({ kind: "finished", delivered: "abandoned" });
    expect(rig.controller.stats().undelivered).toBe(1);
  });

  it("survives a gateway that does not answer: it waits and attaches again", async () => {
    const clock = new ManualClock();
    let failures = 2;
    const { rig, runner } = fakeRig({
      clock,
      wrap: (own) =>
        wrapped(own, {
          cursor: () =>
            failures-- > 0 ? Promise.reject(new LeydenError("gateway_unreachable", "down")) : own.cursor(),
        }),
    });
    await rig.enqueue("a");
    rig.start();
    await clock.advance(1000);
    expect(runner.ids).toEqual([]);
    await clock.advance(1000);
    expect(runner.ids).toEqual(["a/0"]);
  });
});
