// What a page offers of a run: nothing that would be refused.
import { describe, expect, it } from "vitest";
import { isContinuable, replacedRun, type SteerAction, takes } from "../../src/app/page/run_offers.ts";
import { type ExperimentChoice, idleRun, type RunPhase, type RunStatus } from "../../src/schema/run_control.ts";

const at = (phase: RunPhase, modelOpen = false): RunStatus => ({ ...idleRun, experiment: "calc", phase, modelOpen });
const all: readonly SteerAction[] = ["pause", "resume", "step", "stop"];
const taken = (status: RunStatus) => all.filter((action) => takes(action, status));
const choices = [
  { id: "calc", resumable: true },
  { id: "clerk", resumable: false },
] as ExperimentChoice[];

describe("what a page offers", () => {
  it("is what the run takes where it stands", () => {
    expect(taken(at("opening"))).toEqual(["stop"]);
    expect(taken(at("running", true))).toEqual(["pause", "stop"]);
    expect(taken(at("paused", true))).toEqual(["resume", "step", "stop"]);
    for (const phase of ["idle", "stopping", "stopped", "failed"] as const) expect(taken(at(phase))).toEqual([]);
  });

  it("lets a finished run be stopped while its model is open, and only then", () => {
    expect(taken(at("finished", true))).toEqual(["stop"]);
    expect(taken(at("finished"))).toEqual([]);
  });

  it("names continuing where that opens the model again: a run that is over, and kept", () => {
    for (const phase of ["finished", "stopped", "failed"] as const)
      expect(isContinuable(at(phase), choices)).toBe(true);
    expect(isContinuable(at("opening"), choices)).toBe(false);
    expect(isContinuable({ ...at("finished"), experiment: "clerk" }, choices)).toBe(false);
    expect(isContinuable({ ...at("finished"), experiment: "lesson" }, choices)).toBe(false);
    expect(isContinuable(at("finished"), [])).toBe(false);
  });

  it("is doubted where it would delete a kept run, and nowhere else", () => {
    const start = { action: "start" as const, experiment: "calc" };
    expect(replacedRun(start, choices)?.id).toBe("calc");
    expect(replacedRun({ ...start, paused: true }, choices)?.id).toBe("calc");
    expect(replacedRun({ ...start, resume: true }, choices)).toBe(null);
    expect(replacedRun({ ...start, experiment: "clerk" }, choices)).toBe(null);
    expect(replacedRun({ action: "stop" }, choices)).toBe(null);
  });
});
