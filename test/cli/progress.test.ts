import { describe, expect, it } from "vitest";
import type { CommandContext } from "../../src/cli/command.ts";
import { LiveTable } from "../../src/cli/progress.ts";
import type { MetricsLine } from "../../src/experiment/run_folder.ts";

function shown(line: Record<string, unknown>): { printed: string[]; noted: string[] } {
  const printed: string[] = [];
  const noted: string[] = [];
  const context = { json: false, print: (s: string) => printed.push(s), note: (s: string) => noted.push(s) };
  new LiveTable(context as unknown as CommandContext).update({ step: 3, ...line } as unknown as MetricsLine);
  return { printed, noted };
}

describe("the table of updates", () => {
  it("shows what rounds to zero without a sign, and other negative numbers with it", () => {
    const { printed } = shown({ "actor/ppo_kl": -1e-9, "training/signed_mass": -2.5 });
    expect(printed[1]?.trim().split(/\s+/)).toEqual(["3", "-2.50", "0.0000"]);
  });

  it.each([
    ["empty_batch", 4, "within every group all rewards were equal"],
    ["empty_batch", 1, "no rollout left tokens to train on"],
    ["nan_gradient", 0, "its gradient was not finite"],
  ])("says why an update changed nothing: %s with %i groups alike", (skipped, alike, reason) => {
    const { noted } = shown({
      "training/skipped": skipped,
      "training/n_groups": 4,
      "training/n_zero_adv_groups": alike,
    });
    expect(noted).toEqual([`Update 3 changed nothing: ${reason}.`]);
  });
});
