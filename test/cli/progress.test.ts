import { describe, expect, it } from "vitest";
import type { CommandContext } from "../../src/cli/command.ts";
import { LiveTable } from "../../src/cli/progress.ts";
import type { MetricsLine } from "../../src/experiment/run_folder.ts";

interface Facts {
  json?: boolean;
  isScreen?: boolean;
}

/** A table with a clock to set, and everything that it said. */
function tableOf({ json = false, isScreen = false }: Facts = {}) {
  const time = { ms: 0 };
  const printed: string[] = [];
  const noted: string[] = [];
  const drawn: string[] = [];
  const context = {
    json,
    print: (s: string) => printed.push(s),
    printJson: (v: unknown) => printed.push(JSON.stringify(v)),
    note: (s: string) => noted.push(s),
    platform: {
      clock: { monotonic: () => time.ms },
      terminal: { isScreen, err: (s: string) => drawn.push(s) },
    },
  };
  return { table: new LiveTable(context as unknown as CommandContext), time, printed, noted, drawn };
}

function shown(line: Record<string, unknown>): { printed: string[]; noted: string[] } {
  const { table, printed, noted } = tableOf();
  table.update({ step: 3, ...line } as unknown as MetricsLine);
  return { printed, noted };
}

describe("the table of updates", () => {
  it("has the columns that say something of every run", () => {
    const { printed } = shown({ "training/reward": 0.5, "training/signed_mass": 0, "val/reward": 1 });
    expect(printed[0]?.trim().match(/rollouts s|train s|\S+/g)).toEqual([
      "update",
      "reward",
      "entropy",
      "|grad|",
      "tokens",
      "rollouts s",
      "train s",
    ]);
    expect(printed[1]?.trim().split(/\s+/)).toEqual(["3", "0.500"]);
  });

  it("shows what rounds to zero without a sign, and other negative numbers with it", () => {
    const { printed } = shown({ "training/reward": -1e-9, "actor/entropy": -2.5 });
    expect(printed[1]?.trim().split(/\s+/)).toEqual(["3", "0.000", "-2.500"]);
  });

  it("says what a validation found, to people", () => {
    const results = [
      { task: "a", rewards: [1, 0] },
      { task: "b", rewards: [1, 1] },
    ];
    const [told, program] = [tableOf(), tableOf({ json: true })];
    for (const { table } of [told, program]) table.validation(4, results);
    expect(told.noted).toEqual(["Held-out tasks after update 4: reward 0.750 (2 tasks)"]);
    expect([program.noted, program.printed]).toEqual([[], []]);
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

describe("what failed", () => {
  const graded = { code: "grader_failed", count: 3, message: "It returned NaN." };
  const silent = { code: "no_call", count: 2, message: "" };
  const advice = "does the agent read OPENAI_BASE_URL, ANTHROPIC_BASE_URL or GOOGLE_GEMINI_BASE_URL?";

  it("is said of each update, and of agents that asked nothing apart", () => {
    const { table, noted } = tableOf();
    table.failures(1, [graded, { code: "", count: 1, message: "ended by hand" }, silent], 8);
    expect(noted).toEqual([
      "Update 1: 4 of 8 rollouts failed: 3 × grader_failed: It returned NaN.; 1 × ended by hand",
      `Update 1: 2 of 8 agents ended well without asking their model anything: ${advice}`,
    ]);
  });

  it("is counted for the run's end, the most frequent first", () => {
    const { table } = tableOf();
    expect(table.failuresInAll()).toEqual([]);
    table.failures(1, [{ code: "agent_exit", count: 1, message: "code 1." }], 8);
    table.failures(2, [graded, silent], 8);
    expect(table.failuresInAll()).toEqual([
      "In 2 updates, 4 of 16 rollouts failed: 3 × grader_failed: It returned NaN.; 1 × agent_exit: code 1.",
      `In 2 updates, 2 of 16 agents ended well without asking their model anything: ${advice}`,
    ]);
  });
});

/** Five minutes of rollouts, of which one ends every second. */
function work({ table, time }: ReturnType<typeof tableOf>): void {
  for (let finished = 1; finished <= 300; finished++) {
    time.ms += 1000;
    table.rollouts(1, finished, 300);
  }
}

describe("how far the work is", () => {
  it("is a line now and then where there is no screen", () => {
    const told = tableOf();
    work(told);
    expect(told.noted).toHaveLength(20);
    expect(told.noted[0]).toBe("update 1: 15/300 rollouts");
    expect(told.noted.at(-1)).toBe("update 1: 300/300 rollouts");
    expect([told.printed, told.drawn]).toEqual([[], []]);
  });

  it("waits after every other line, too", () => {
    const { table, time, noted } = tableOf();
    time.ms = 14_000;
    table.update({ step: 1 } as unknown as MetricsLine);
    time.ms = 28_000;
    table.rollouts(2, 1, 8);
    expect(noted).toEqual([]);
    time.ms = 29_000;
    table.rollouts(2, 2, 8);
    expect(noted).toEqual(["update 2: 2/8 rollouts"]);
  });

  it("is one line that changes on a screen, and nothing to programs", () => {
    const screen = tableOf({ isScreen: true });
    work(screen);
    expect(screen.drawn).toHaveLength(300);
    expect(screen.drawn.at(-1)).toBe("\rupdate 1: 300/300 rollouts");
    expect(screen.noted).toEqual([]);
    const program = tableOf({ json: true });
    work(program);
    expect([program.printed, program.noted, program.drawn]).toEqual([[], [], []]);
  });
});
