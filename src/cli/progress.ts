import type { TaskResult } from "../experiment/evaluation.ts";
import { type FailureCount, silentCode } from "../experiment/failures.ts";
import type { LoopReporter } from "../experiment/loop.ts";
import type { MetricsLine } from "../experiment/run_folder.ts";
import type { CommandContext } from "./command.ts";
import { counted } from "./counted.ts";

const columns: readonly [title: string, key: string, digits: number][] = [
  ["update", "step", 0],
  ["reward", "training/reward", 3],
  ["entropy", "actor/entropy", 3],
  ["|grad|", "actor/grad_norm", 2],
  ["tokens", "training/n_tokens", 0],
  ["rollouts s", "timing_s/gen", 1],
  ["train s", "device/train_s", 1],
];

function cell(value: unknown, digits: number): string {
  if (typeof value !== "number") return "";
  return value.toFixed(digits).replace(/^-(?=[0.]+$)/, "");
}

/** Why an update left the weights as they were, in a reader's words. */
function skipReason(line: MetricsLine): string {
  if (line["training/skipped"] === "nan_gradient") return "its gradient was not finite";
  const alike = line["training/n_groups"] === line["training/n_zero_adv_groups"];
  return alike ? "within every group all rewards were equal" : "no rollout left tokens to train on";
}

/** What some rollouts failed of, and how many left nothing to learn from: a line for either, without its beginning. */
export function failureLines(failures: readonly FailureCount[], total: number): string[] {
  const failed = failures.filter(({ code }) => code !== silentCode);
  const [silent] = failures.filter(({ code }) => code === silentCode);
  const causes = failed.map(({ code, count, message }) => `${count} × ${code}${code && ": "}${message}`);
  const lines = failed.length === 0 ? [] : [`${sum(failed)} of ${total} rollouts failed: ${causes.join("; ")}`];
  if (silent === undefined) return lines;
  const advice = "does the agent read OPENAI_BASE_URL, ANTHROPIC_BASE_URL or GOOGLE_GEMINI_BASE_URL?";
  return [...lines, `${silent.count} of ${total} agents ended well without asking their model anything: ${advice}`];
}

function sum(failures: readonly FailureCount[]): number {
  return failures.reduce((n, f) => n + f.count, 0);
}

/** Failures of several updates by cause, each with the words it had first. */
class FailureTotal {
  private readonly causes = new Map<string, FailureCount>();
  private updates = 0;
  /** Rollouts of the updates in which some failed. */
  private rollouts = 0;

  add(failures: readonly FailureCount[], rollouts: number): void {
    this.updates++;
    this.rollouts += rollouts;
    for (const failure of failures) {
      const before = this.causes.get(failure.code);
      const added = before === undefined ? failure : { ...before, count: before.count + failure.count };
      this.causes.set(failure.code, added);
    }
  }

  lines(): string[] {
    const failures = [...this.causes.values()].sort((a, b) => b.count - a.count);
    return failureLines(failures, this.rollouts).map((line) => `In ${counted(this.updates, "update")}, ${line}`);
  }
}

/** Without a screen, the least time between two lines of which the second says no more than how far the work is. */
const restMs = 15_000;

/**
 * A table that grows by a line with every update, and how many rollouts have finished: a line that changes on a screen,
 * now and then a line of its own where there is none.
 */
export class LiveTable implements LoopReporter {
  private readonly context: CommandContext;
  private headed = false;
  private readonly failureTotal = new FailureTotal();
  private shown = "";
  /** When there was a line last. */
  private saidMs: number;

  constructor(context: CommandContext) {
    this.context = context;
    this.saidMs = context.platform.clock.monotonic();
  }

  rollouts(update: number, finished: number, total: number): void {
    this.status(`update ${update}: ${finished}/${total} rollouts`);
  }

  /** Says how far the work is; nothing to programs. */
  status(text: string): void {
    const { platform, json, note } = this.context;
    if (json || text === this.shown) return;
    if (platform.terminal.isScreen) {
      platform.terminal.err(`\r${text.padEnd(this.shown.length)}`);
      this.shown = text;
    } else if (platform.clock.monotonic() - this.saidMs >= restMs) {
      note(text);
      this.saidMs = platform.clock.monotonic();
    }
  }

  update(line: MetricsLine): void {
    this.clear();
    if (this.context.json) {
      this.context.printJson(line);
      return;
    }
    if (!this.headed) this.context.print(columns.map(([title]) => title.padStart(10)).join(" "));
    this.headed = true;
    this.context.print(columns.map(([, key, digits]) => cell(line[key], digits).padStart(10)).join(" "));
    if (typeof line["training/skipped"] === "string") {
      this.context.note(`Update ${line.step} changed nothing: ${skipReason(line)}.`);
    }
  }

  failures(update: number, failures: readonly FailureCount[], total: number): void {
    this.clear();
    this.failureTotal.add(failures, total);
    for (const line of failureLines(failures, total)) this.context.note(`Update ${update}: ${line}`);
  }

  validation(update: number, results: readonly TaskResult[]): void {
    this.clear();
    if (this.context.json) return;
    const rewards = results.flatMap((result) => result.rewards);
    const mean = rewards.reduce((sum, reward) => sum + reward, 0) / Math.max(1, rewards.length);
    this.context.note(
      `Held-out tasks after update ${update}: reward ${mean.toFixed(3)} (${counted(results.length, "task")})`,
    );
  }

  /** What failed in all the updates that were watched: lines for the run's end, none where nothing did. */
  failuresInAll(): string[] {
    return this.failureTotal.lines();
  }

  /** Ends the line that changes, so that other lines can follow. */
  clear(): void {
    const { clock, terminal } = this.context.platform;
    this.saidMs = clock.monotonic();
    if (this.shown === "") return;
    terminal.err(`\r${" ".repeat(this.shown.length)}\r`);
    this.shown = "";
  }
}
