import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import { ConfigError } from "../../core/errors.ts";
import { GraderError } from "../../rollout/errors.ts";
import type { Grade, Grader } from "../../schema/grader.ts";

/** Name of the grader whose text people write in the page. */
export const editedRewardName = "edited";

/** What stands in the configuration: the text itself, so that a checkpoint says what was rewarded. */
export interface EditedRewardOptions {
  source: string;
}

/** How long a reward function may take, in milliseconds. */
const rewardMs = 2_000;

type RewardAnswer = { readonly value: unknown } | { readonly thrown: string };

/**
 * The worker's module: the text as an expression, called for each message. It stands in a blob of its own rather than in
 * an eval, which the page's policy forbids.
 */
function moduleText(source: string): string {
  return `const reward = (${source}\n);
onmessage = async ({ data }) => {
  try {
    postMessage({ value: await reward(data) });
  } catch (thrown) {
    postMessage({ thrown: thrown instanceof Error ? thrown.name + ": " + thrown.message : String(thrown) });
  }
};
postMessage(typeof reward === "function" ? { value: "ready" } : { thrown: "it is no function" });`;
}

/** One worker with one reward function, asked one rollout at a time. */
class RewardWorker {
  /** Why it is of no more use; null while it is. */
  fault: unknown = null;
  private readonly clock: Clock;
  private readonly worker: Worker;
  private turn: Promise<unknown>;

  constructor(clock: Clock, source: string) {
    this.clock = clock;
    const address = URL.createObjectURL(new Blob([moduleText(source)], { type: "text/javascript" }));
    // A script, not a module: from a disk browsers start no module from a blob.
    this.worker = new Worker(address);
    this.turn = this.answer()
      .then((first) => {
        if ("thrown" in first) throw this.gaveUp(unusable(first.thrown));
      })
      .finally(() => URL.revokeObjectURL(address));
    // Said to whoever asks.
    this.turn.catch(() => {});
  }

  /** Resolves when the text has been read. @throws GraderError when it is no function */
  ready(): Promise<unknown> {
    return this.turn;
  }

  ask(input: unknown): Promise<RewardAnswer> {
    const asked = this.turn.then(() => {
      if (this.fault !== null) throw this.fault;
      const answered = this.answer();
      this.worker.postMessage(input);
      return answered;
    });
    this.turn = asked.catch(() => {});
    return asked;
  }

  terminate(): void {
    this.worker.terminate();
  }

  private async answer(): Promise<RewardAnswer> {
    const done = new AbortController();
    try {
      return await Promise.race([this.next(done.signal), this.late(done.signal)]);
    } catch (thrown) {
      throw this.gaveUp(thrown);
    } finally {
      done.abort();
    }
  }

  private gaveUp(fault: unknown): unknown {
    this.fault = fault;
    this.terminate();
    return fault;
  }

  private next(signal: AbortSignal): Promise<RewardAnswer> {
    return new Promise((resolve, reject) => {
      this.worker.addEventListener("message", ({ data }) => resolve(data as RewardAnswer), { once: true, signal });
      const failed = (event: ErrorEvent): void => {
        event.preventDefault();
        reject(unusable(event.message || "its text cannot be read"));
      };
      this.worker.addEventListener("error", failed, { once: true, signal });
    });
  }

  private async late(signal: AbortSignal): Promise<never> {
    await this.clock.sleep(rewardMs, signal);
    throw wrong(`the reward function took longer than ${rewardMs / 1000} s.`);
  }
}

const example = "({ message, task }) => Number(message === task.hidden.answer)";

function unusable(reason: string): GraderError {
  return wrong(`the reward function cannot be used: ${reason}.`);
}

function wrong(what: string): GraderError {
  return new GraderError(editedRewardName, what, `Write one such as ${example}.`);
}

function gradeOf(answer: RewardAnswer): Grade {
  if ("thrown" in answer) throw wrong(`the reward function threw ${answer.thrown}.`);
  const { value } = answer;
  const number = typeof value === "boolean" ? Number(value) : value;
  if (typeof number === "number" && Number.isFinite(number)) return { value: number, reason: "edited" };
  throw wrong(`the reward function returned ${JSON.stringify(value) ?? String(value)}, which is no finite number.`);
}

/** A grader whose function people edit in the page; it runs in a worker, away from the agent, the run and the page. */
export class EditedReward {
  readonly grader: Grader<EditedRewardOptions>;
  private worker: { source: string; worker: RewardWorker } | null = null;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
    this.grader = {
      name: editedRewardName,
      optionsSchema: z.strictObject({ source: z.string().min(1) }),
      grade: async ({ task, finalMessage: message, calls, exitCode }, { source }) => {
        return gradeOf(await this.workerOf(source).ask({ task, message, calls, exitCode }));
      },
    };
  }

  /** Reads a text before a run is started with it. @throws ConfigError when it is no function */
  async check(source: string): Promise<void> {
    try {
      await this.workerOf(source).ready();
    } catch (cause) {
      this.end();
      throw new ConfigError((cause as Error).message, { do: `Write one such as ${example}.`, cause });
    }
  }

  /** Ends its worker. */
  end(): void {
    this.worker?.worker.terminate();
    this.worker = null;
  }

  private workerOf(source: string): RewardWorker {
    // One that hung is not asked again: the next rollout gets another one.
    if (this.worker?.source !== source || this.worker.worker.fault !== null) {
      this.end();
      this.worker = { source, worker: new RewardWorker(this.clock, source) };
    }
    return this.worker.worker;
  }
}
