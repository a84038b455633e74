import type { TaskRow } from "./task.ts";

/** A reply to be judged. */
export interface CompletionReply {
  readonly task: TaskRow;
  /** What the sampled tokens spell, a stop token left out. */
  readonly text: string;
  /** The same token by token, the stop token with its own spelling. */
  readonly tokens: readonly string[];
  /** True when the policy ended the reply itself, false when it ran out of tokens. */
  readonly stopped: boolean;
}

/** A task that one reply answers: no agent, no tools. What a completion module exports as `completion`. */
export interface CompletionTask {
  /** Most tokens of a reply. */
  readonly maxTokens: number;
  /** What the policy is asked, as the user's message. */
  prompt(input: TaskRow["input"]): string;
  /** The reply's reward, or one per token; their sum is then the reply's. With a NaN or infinity it has no reward. */
  reward(reply: CompletionReply): number | readonly number[];
}
