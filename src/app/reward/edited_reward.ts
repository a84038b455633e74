import { z } from "zod";
import { ConfigError } from "../../core/errors.ts";
import { GraderError } from "../../rollout/errors.ts";
import type { Grader } from "../../schema/grader.ts";
import type { Platform, WorkerHandle } from "../../schema/platform.ts";
import { type EditedRewardOptions, editedRewardName } from "./edited_reward_name.ts";
import type { RewardAnswer } from "./reward_sandbox.ts";
import type { RewardQuestion } from "./reward_worker.ts";

/** What the sandbox is made of. */
type SandboxPlatform = Pick<Platform, "clock" | "spawnWorker">;

/** After so long without an answer a worker is given up, in milliseconds: it watches its own limit, which is shorter. */
const silenceMs = 30_000;

const example = "({ message, task }) => Number(message === task.hidden.answer)";

function wrong(what: string, cause?: unknown): GraderError {
  return new GraderError(editedRewardName, what, `Write one such as ${example}.`, cause);
}

/** A worker with the sandbox in it, asked one question at a time. */
class RewardWorker {
  /** Why it is of no more use; null while it is. */
  fault: GraderError | null = null;
  private readonly platform: SandboxPlatform;
  private readonly worker: WorkerHandle;
  private turn: Promise<unknown> = Promise.resolve();
  private answered: PromiseWithResolvers<RewardAnswer> | null = null;

  constructor(platform: SandboxPlatform) {
    this.platform = platform;
    this.worker = platform.spawnWorker(new URL("./reward_worker.ts", import.meta.url));
    this.worker.onMessage((message) => this.answered?.resolve(message as RewardAnswer));
    this.worker.onError((error) => this.giveUp(wrong(`the reward function ended its worker: ${error.message}`, error)));
  }

  ask(question: RewardQuestion): Promise<RewardAnswer> {
    const asked = this.turn.then(() => this.answerOf(question));
    this.turn = asked.catch(() => {});
    return asked;
  }

  end(): void {
    this.giveUp(wrong("the run has ended."));
  }

  private async answerOf(question: RewardQuestion): Promise<RewardAnswer> {
    if (this.fault !== null) throw this.fault;
    const answered = Promise.withResolvers<RewardAnswer>();
    this.answered = answered;
    const done = new AbortController();
    this.platform.clock.sleep(silenceMs, done.signal).then(
      () => this.giveUp(wrong(`the reward function gave no answer within ${silenceMs / 1000} s.`)),
      () => {},
    );
    this.worker.post(question);
    try {
      return await answered.promise;
    } finally {
      done.abort();
    }
  }

  private giveUp(fault: GraderError): void {
    if (this.fault !== null) return;
    this.fault = fault;
    this.answered?.reject(fault);
    void this.worker.terminate();
  }
}

/** A grader whose function people write in the page; a run keeps its text, and is judged by it wherever it goes on. */
export class EditedReward {
  readonly grader: Grader<EditedRewardOptions>;
  private readonly platform: SandboxPlatform;
  private worker: RewardWorker | null = null;

  constructor(platform: SandboxPlatform) {
    this.platform = platform;
    this.grader = {
      name: editedRewardName,
      optionsSchema: z.strictObject({ source: z.string().min(1) }),
      grade: async ({ task, finalMessage: message, calls, exitCode }, { source }) => {
        const answer = await this.ask({ source, input: JSON.stringify({ task, message, calls, exitCode }) });
        if ("fault" in answer) throw wrong(answer.fault);
        return { value: answer.value, reason: "edited" };
      },
    };
  }

  /** Reads a text before a run is started with it. @throws ConfigError when it is no function */
  async check(source: string): Promise<void> {
    const answer = await this.ask({ source });
    if (!("fault" in answer)) return;
    throw new ConfigError(wrong(answer.fault).message, { do: `Write one such as ${example}.` });
  }

  /** Ends its worker. */
  end(): void {
    this.worker?.end();
    this.worker = null;
  }

  private ask(question: RewardQuestion): Promise<RewardAnswer> {
    // One that was given up is not asked again: the next rollout gets another one.
    if (this.worker === null || this.worker.fault !== null) this.worker = new RewardWorker(this.platform);
    return this.worker.ask(question);
  }
}

/** Reads a text before a run is started with it. @throws ConfigError when it is no function */
export async function checkReward(platform: SandboxPlatform, source: string): Promise<void> {
  const reward = new EditedReward(platform);
  try {
    await reward.check(source);
  } finally {
    reward.end();
  }
}
