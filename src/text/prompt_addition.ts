import type { EncodedPrompt, PromptAddition, RecordedCall } from "../schema/chat.ts";

/** A prompt with the ids of the recorded call that it continues, in an array of its own. */
export function promptOf({ ids, ...addition }: PromptAddition, recorded: readonly RecordedCall[]): EncodedPrompt {
  const call = addition.parentCall === null ? undefined : recorded.find(({ id }) => id === addition.parentCall);
  if (!call) return { ...addition, ids, prefixLength: 0 };
  const { promptIds, replyIds } = call;
  const prefixLength = promptIds.length + replyIds.length;
  const whole = new Int32Array(prefixLength + ids.length);
  whole.set(promptIds);
  whole.set(replyIds, promptIds.length);
  whole.set(ids, prefixLength);
  return { ...addition, ids: whole, prefixLength };
}
