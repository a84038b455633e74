/**
 * Prompts without a chat template. Such a harness builds its prompt by hand and puts replies into it as it likes, so a
 * prompt continues a recorded call as far as it repeats that call's text, token by token.
 */
import type { BreakReason, EncodedPrompt } from "../../src/schema/chat.ts";
import type { ServedModel } from "../deps.ts";
import type { RawPrompt } from "../dialects/dialect.ts";

/** A recorded call without a chat. */
export interface RawCall {
  id: string;
  /** The prompt's text; null when it was given as ids. */
  prompt: string | null;
  promptIds: Int32Array;
  replyIds: Int32Array;
}

/** A recorded call and how many of its reply's ids the prompt repeats. */
interface Repeated {
  call: RawCall;
  replyIds: number;
  /** Characters of the prompt that these ids stand for. */
  length: number;
}

/** Characters that two prompts share at their beginnings before one counts as the other, edited. */
const tellingLength = 16;

/**
 * How many leading ids spell a beginning of `text`, and its length in characters. Longer beginnings that spell more are
 * found by halving: what a shorter one spells, a longer one begins with, but for a character that is not complete.
 */
export function spelledPrefix(
  ids: readonly number[],
  text: string,
  decode: (ids: readonly number[]) => string,
): { ids: number; length: number } {
  const spelled = (count: number) => decode(ids.slice(0, count));
  const fits = (count: number) => text.startsWith(spelled(count).replace(/\ufffd+$/, ""));
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  while (low > 0 && !text.startsWith(spelled(low))) low--;
  return { ids: low, length: low === 0 ? 0 : spelled(low).length };
}

/** The reply's ids that stand for text: the one that ends it does not. */
function textIds({ replyIds }: RawCall, stopIds: readonly number[]): number[] {
  const ids = Array.from(replyIds);
  return stopIds.includes(ids.at(-1) ?? -1) ? ids.slice(0, -1) : ids;
}

function repeated(text: string, call: RawCall, { codec }: ServedModel): Repeated | null {
  if (call.prompt === null || !text.startsWith(call.prompt)) return null;
  const rest = text.slice(call.prompt.length);
  const found = spelledPrefix(textIds(call, codec.stopIds), rest, (ids) => codec.parseReply(ids).text);
  return { call, replyIds: found.ids, length: call.prompt.length + found.length };
}

function startsWith(ids: readonly number[], beginning: ArrayLike<number>, from: number): boolean {
  for (let at = 0; at < beginning.length; at++) if (ids[from + at] !== beginning[at]) return false;
  return true;
}

function breakOf(prompt: RawPrompt, calls: readonly RawCall[]): BreakReason | null {
  if (calls.length === 0) return null;
  const head = typeof prompt === "string" ? prompt.slice(0, tellingLength) : null;
  const isEdited = calls.some(({ prompt: other, promptIds }) =>
    head !== null ? other?.startsWith(head) : startsWith(prompt as readonly number[], promptIds.subarray(0, 4), 0),
  );
  return isEdited ? "edited" : "side";
}

function joined(prefix: RawCall, replyIds: number, added: Int32Array): Int32Array {
  const { promptIds } = prefix;
  const ids = new Int32Array(promptIds.length + replyIds + added.length);
  ids.set(promptIds);
  ids.set(prefix.replyIds.subarray(0, replyIds), promptIds.length);
  ids.set(added, promptIds.length + replyIds);
  return ids;
}

/** Ids are taken as they are; the longest recorded call that they begin with is what they continue. */
function givenIds(prompt: readonly number[], calls: readonly RawCall[]): EncodedPrompt {
  const ids = Int32Array.from(prompt);
  const length = ({ promptIds, replyIds }: RawCall) => promptIds.length + replyIds.length;
  const found = calls
    .filter((call) => startsWith(prompt, call.promptIds, 0) && startsWith(prompt, call.replyIds, call.promptIds.length))
    .sort((a, b) => length(b) - length(a))[0];
  if (!found) return { ids, parentCall: null, prefixLength: 0, break: breakOf(prompt, calls) };
  return { ids, parentCall: found.id, prefixLength: length(found), break: null };
}

/** A prompt as ids, recorded calls' ids verbatim. @throws FormatError "text_unencodable" */
export async function encodeRaw(
  prompt: RawPrompt,
  calls: readonly RawCall[],
  model: ServedModel,
): Promise<EncodedPrompt> {
  if (typeof prompt !== "string") return givenIds(prompt, calls);
  const found = calls
    .flatMap((call) => repeated(prompt, call, model) ?? [])
    .sort((a, b) => b.length - a.length || b.replyIds - a.replyIds)[0];
  if (!found || found.replyIds === 0) {
    const isAgain = found?.call.prompt === prompt;
    const ids = isAgain ? found.call.promptIds : await model.codec.encodeText(prompt, false);
    return { ids, parentCall: null, prefixLength: 0, break: isAgain ? null : breakOf(prompt, calls) };
  }
  const added = await model.codec.encodeText(prompt.slice(found.length), true);
  const prefixLength = found.call.promptIds.length + found.replyIds;
  return { ids: joined(found.call, found.replyIds, added), parentCall: found.call.id, prefixLength, break: null };
}
