import { deriveKey, type RngKey } from "../core/rng.ts";
import type { CallRecord, GroupRecord, RolloutRecord } from "../rl/batch/batch_input.ts";
import type { CompletionReply, CompletionTask } from "../schema/completion.ts";
import type { Engine, GenerateResult } from "../schema/engine.ts";
import { isReward } from "../schema/reward.ts";
import type { TaskRow } from "../schema/task.ts";
import type { ChatCodec } from "../text/chat_format.ts";

/** What completions are drawn with. */
export interface CompletionDeps {
  readonly engine: Engine;
  readonly codec: ChatCodec;
  /** Spelling of one token, control tokens included. */
  tokenText(id: number): string;
  readonly task: CompletionTask;
  readonly temperature: number;
  /** Key of the experiment's random numbers. */
  readonly key: RngKey;
}

/** What a reply earned, by its tokens where the task tells; no reward where a number is none that a reward can be. */
function earnedBy(
  task: CompletionTask,
  reply: CompletionReply,
  count: number,
): { reward: number | null; each?: number[] } {
  const given = task.reward(reply);
  if (typeof given === "number") return { reward: isReward(given) ? given : null };
  const each = Array.from({ length: count }, (_, t) => given[t] ?? 0);
  const reward = each.reduce((a, b) => a + b, 0);
  return each.every(isReward) && isReward(reward) ? { reward, each } : { reward: null };
}

/** Draws one reply and judges it. Its name alone decides its draws. */
async function completion(deps: CompletionDeps, id: string, row: TaskRow): Promise<RolloutRecord> {
  const { engine, codec, task, temperature } = deps;
  const messages = [{ role: "user" as const, content: task.prompt(row.input) }];
  const { ids: promptIds } = await codec.encodeRequest({ messages, tools: null, templateArgs: null }, []);
  const result = await engine.generate({
    id,
    promptIds,
    maxTokens: task.maxTokens,
    sampling: { temperature, topK: 0, topP: 1, minP: 0 },
    key: deriveKey(deps.key, "completion", id),
    stopIds: codec.stopIds,
    stopStrings: [],
  });
  const { reward, each } = earnedBy(task, replyOf(deps, row, result), result.ids.length);
  const call: CallRecord = {
    id: `${id}-call`,
    key: id,
    attempt: "0",
    promptIds,
    replyIds: result.ids,
    logprobs: result.logprobs,
    versions: result.versions,
    ...(result.finishReason === "length" ? { cutOff: true } : {}),
    ...(each === undefined ? {} : { tokenRewards: each }),
  };
  return { id, attempt: "0", status: "succeeded", reward, calls: [call] };
}

function replyOf({ tokenText }: CompletionDeps, task: TaskRow, { ids, finishReason }: GenerateResult): CompletionReply {
  const tokens = Array.from(ids, tokenText);
  const stopped = finishReason === "stop";
  return { task, tokens, stopped, text: (stopped ? tokens.slice(0, -1) : tokens).join("") };
}

/** A group's replies to one task, drawn side by side; rollouts are named after the group. */
export async function completionGroup(
  deps: CompletionDeps,
  id: string,
  task: TaskRow,
  size: number,
): Promise<GroupRecord> {
  const names = Array.from({ length: size }, (_, j) => `${id}-s${j}`);
  const rollouts = await Promise.all(names.map((name) => completion(deps, name, task)));
  return { id, task: task.id, rollouts, expected: size };
}
