import type { CompletionReply, CompletionTask } from "leyden";

/**
 * What each token of a reply earns. Of an answer of L characters each one that matches from the left earns 1 / (L + 1),
 * those from the first mismatch on nothing; the token that ends the reply earns what the last one did. A complete answer
 * earns 1 in all. An empty reply earns 1 when the answer is empty, else nothing. Every token spells one character.
 */
export function tokenRewards({
  task,
  tokens,
  stopped,
}: Pick<CompletionReply, "task" | "tokens" | "stopped">): number[] {
  const answer = String(task.hidden.answer);
  const characters = stopped ? tokens.slice(0, -1) : tokens;
  if (characters.length === 0) return [answer === "" ? 1 : 0];
  const part = 1 / (answer.length + 1);
  let matched = 0;
  while (matched < characters.length && characters[matched] === answer[matched]) matched++;
  const earned = characters.map((_, i) => (i < matched ? part : 0));
  return stopped ? [...earned, earned.at(-1) ?? 0] : earned;
}

/** A prompt, and a reply of at most 32 tokens, rewarded token by token. */
export const completion: CompletionTask = {
  maxTokens: 32,
  prompt: (input) => String(input.prompt),
  reward: tokenRewards,
};
