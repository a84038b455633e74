import { asLeydenError } from "../core/errors.ts";
import type { Grade, GradeTools } from "../schema/grader.ts";
import { isReward, largestReward } from "../schema/reward.ts";
import { dataIdOf } from "../schema/rollout.ts";
import type { TaskRow } from "../schema/task.ts";
import { type EventCreate, eventTypes, type RewardSource, type Rollout, type RolloutEvent } from "../schema/wire.ts";
import { GraderError, HookError } from "./errors.ts";
import { type AttemptEnd, type Failure, failure, failureOf } from "./failure.ts";
import type { BoundGrader } from "./graders/registry.ts";
import type { FinishedRollout, RolloutHooks } from "./hooks.ts";
import type { RolloutOutcome } from "./outcome.ts";
import { finalMessage, postedReward, transcript } from "./transcript.ts";

/** What decides a rollout's result once its last attempt has ended. */
export interface SettleDeps {
  /** Used when the rollout does not name its own source. */
  rewardSource: RewardSource;
  /** Needed for source "grader". */
  grader: BoundGrader | null;
  hooks: RolloutHooks;
  /** The task behind a rollout, hidden fields included. */
  taskOf(rollout: Rollout): TaskRow;
  tools: Omit<GradeTools, "logFolder">;
}

/** The attempt that decides. */
export interface LastAttempt {
  rollout: Rollout;
  attemptId: string;
  folder: string;
  end: AttemptEnd;
  /** Its events and calls in order of writing. */
  events: readonly RolloutEvent[];
  /** HTTP status of its last call; null when it made none. */
  lastStatus: number | null;
  /** Failures of the attempts before. */
  earlier: readonly Failure[];
}

/** The task as the rollout itself carries it. */
export function taskOfRollout(rollout: Rollout): TaskRow {
  const asRecord = (value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  const id = dataIdOf(rollout.input) || rollout.rollout_id;
  return { id, input: asRecord(rollout.input), hidden: asRecord(rollout.hidden) };
}

/** Decides outcomes once an agent has ended: reward, hooks, state. */
export class Settler {
  private readonly deps: SettleDeps;

  constructor(deps: SettleDeps) {
    this.deps = deps;
  }

  /** The failure of an attempt; null when it went well, or when the exit code is what is measured. */
  failureOf({ rollout, end, lastStatus }: LastAttempt): Failure | null {
    const found = failureOf(end, lastStatus);
    const measured = found?.code === "agent_exit" || found?.code === "agent_crash";
    return measured && this.sourceOf(rollout) === "exit" ? null : found;
  }

  /** The outcome of a rollout whose last attempt ended with `failed`, or well; never rejects. */
  async settle(attempt: LastAttempt, failed: Failure | null): Promise<RolloutOutcome> {
    const { rollout, attemptId, end, earlier } = attempt;
    const added: EventCreate[] = [];
    let reward: RolloutOutcome["reward"] = null;
    let reason = failed;
    try {
      if (reason === null) reward = await this.reward(attempt, added);
      if (reason?.code !== "cancelled") await this.runHook(attempt, added, reason);
    } catch (thrown) {
      // A rollout that fails while it is settled has no reward, even where one was decided before its hook threw.
      added.length = 0;
      reward = null;
      reason = settleFailure(thrown, reason);
    }
    reward = this.asPosted(attempt, added, reward);
    return {
      format: 1,
      rolloutId: rollout.rollout_id,
      attemptId,
      state: reason === null ? "succeeded" : "failed",
      failure: reason,
      reward,
      earlier,
      exit: end.exit,
      startedAt: end.startedAt,
      endedAt: end.endedAt,
      events: added.map((event, i) => ({ ...event, event_id: `${attemptId}/result/${i}` })),
    };
  }

  /**
   * The reward that the trainer will read off the events: an agent that failed has what it was given before, as hooks say.
   */
  private asPosted(
    { rollout, events }: LastAttempt,
    added: readonly EventCreate[],
    decided: RolloutOutcome["reward"],
  ): RolloutOutcome["reward"] {
    const value = postedReward([...events, ...added]);
    if (value === null || value === decided?.value) return decided;
    return { value, source: this.sourceOf(rollout), reason: "posted" };
  }

  private sourceOf(rollout: Rollout): RewardSource {
    return rollout.config.reward?.source ?? this.deps.rewardSource;
  }

  private async reward(attempt: LastAttempt, added: EventCreate[]): Promise<RolloutOutcome["reward"]> {
    const source = this.sourceOf(attempt.rollout);
    if (source === "agent") {
      const value = postedReward(attempt.events);
      return { value, source, reason: value === null ? "no_reward" : "posted" };
    }
    const { value, reason, details } = source === "exit" ? gradeExit(attempt.end) : await this.grade(attempt);
    const data = { value, source, reason, ...(details === undefined ? {} : { details }) };
    added.push({ event_type: eventTypes.reward, data });
    return { value, source, reason };
  }

  private async grade({ rollout, folder, end, events }: LastAttempt): Promise<Grade> {
    const { grader, taskOf, tools } = this.deps;
    if (grader === null) throw new GraderError("(none)", "reward.source is grader.", "Name one in task.grader.");
    const calls = transcript(events);
    const input = {
      task: taskOf(rollout),
      finalMessage: finalMessage(calls),
      calls,
      exitCode: end.exit?.code ?? null,
      workspace: end.workspace,
    };
    const grade = await grader.grade(input, { ...tools, logFolder: folder }).catch((thrown: unknown) => {
      if (thrown instanceof GraderError) throw thrown;
      throw new GraderError(grader.name, `it threw "${asLeydenError(thrown).message}".`, "Correct the grader.", thrown);
    });
    if (isReward(grade.value)) return grade;
    throw new GraderError(
      grader.name,
      `it returned ${grade.value} as a reward.`,
      `Return a finite number, ${largestReward} in size at most.`,
    );
  }

  private async runHook(
    { rollout, attemptId, events }: LastAttempt,
    added: EventCreate[],
    failed: Failure | null,
  ): Promise<void> {
    const { hooks } = this.deps;
    const finished: FinishedRollout = { rollout, attemptId, events, addEvent: (event) => void added.push(event) };
    try {
      if (failed === null) await hooks.onSucceeded?.(finished);
      else await hooks.onFailed?.(finished, failed);
    } catch (thrown) {
      throw new HookError(failed === null ? "onSucceeded" : "onFailed", rollout.rollout_id, thrown);
    }
  }
}

function gradeExit({ exit }: AttemptEnd): Grade {
  return { value: exit?.code === 0 ? 1 : 0, reason: `exit_${exit?.code ?? exit?.signal}` };
}

/** The failure that a throw while settling makes; an earlier failure of the rollout stays in its message. */
function settleFailure(thrown: unknown, before: Failure | null): Failure {
  const { message } = asLeydenError(thrown);
  const code = thrown instanceof HookError ? "hook_failed" : "grader_failed";
  return failure(code, before === null ? message : `${before.message} Then: ${message}`);
}
