// Which update a reply's model is of: pages hear of an update only when it has finished.
import { describe, expect, it } from "vitest";
import { updateOfVersion } from "../../src/app/page/reply_update.ts";
import type { MetricsLine } from "../../src/app/page/run_feed.ts";
import { idleRun, type RunStatus } from "../../src/schema/run_control.ts";

const at = (update: number, version = update): RunStatus => ({ ...idleRun, phase: "running", update, version });
const line = (step: number, version = step): MetricsLine => ({ step, version });

describe("the update that a reply's model is of", () => {
  it("is the one that the run has come to", () => {
    expect(updateOfVersion(0, at(0), [])).toBe(0);
    expect(updateOfVersion(2, at(2), [line(1), line(2)])).toBe(2);
  });

  it("is the one under way where its weights are in use already", () => {
    expect(updateOfVersion(1, at(0), [])).toBe(1);
    expect(updateOfVersion(3, at(2), [line(1), line(2)])).toBe(3);
  });

  it("is an earlier one where the run has gone on meanwhile", () => {
    expect(updateOfVersion(1, at(3), [line(1), line(2), line(3)])).toBe(1);
    expect(updateOfVersion(0, at(1), [line(1)])).toBe(0);
  });

  it("counts skipped updates, and the several steps of one, as updates", () => {
    expect(updateOfVersion(1, at(2, 1), [line(1, 1), line(2, 1)])).toBe(2);
    expect(updateOfVersion(8, at(2, 8), [line(1, 4), line(2, 8)])).toBe(2);
    expect(updateOfVersion(6, at(2, 8), [line(1, 4), line(2, 8)])).toBe(2);
    expect(updateOfVersion(9, at(2, 8), [line(1, 4), line(2, 8)])).toBe(3);
  });

  it("is known of a run that goes on from a checkpoint, of whose updates there are no numbers", () => {
    expect(updateOfVersion(12, at(3, 12), [])).toBe(3);
    expect(updateOfVersion(13, at(3, 12), [])).toBe(4);
  });
});
