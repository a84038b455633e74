import type { FailureCount } from "../experiment/failures.ts";
import type { LoopReporter } from "../experiment/loop.ts";
import type { MetricsLine } from "../experiment/run_folder.ts";
import type { CommandContext } from "./command.ts";

const columns: readonly [title: string, key: string, digits: number][] = [
  ["update", "step", 0],
  ["reward", "training/reward", 3],
  ["val", "val/reward", 3],
  ["entropy", "actor/entropy", 3],
  ["mass", "training/signed_mass", 2],
  ["kl", "actor/ppo_kl", 4],
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

/** Without a screen, the least time between two lines of which the second says no more than how far the work is. */
const restMs = 15_000;

/**
 * A table that grows by a line with every update, and how many rollouts have finished: a line that changes on a screen,
 * now and then a line of its own where there is none.
 */
export class LiveTable implements LoopReporter {
  private readonly context: CommandContext;
  private headed = false;
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
    const failed = failures.reduce((n, f) => n + f.count, 0);
    const causes = failures.map(({ code, count, message }) => `${count} × ${code}${code && ": "}${message}`);
    this.context.note(`Update ${update}: ${failed} of ${total} rollouts failed: ${causes.join("; ")}`);
  }

  validation(): void {
    this.clear();
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
