import fc from "fast-check";
import type { TrieCall } from "../../src/rl/trie/trie.ts";

/** How a call comes from those before it: a new root, or the beginning of an earlier sequence, then new tokens. */
interface Step {
  from: number;
  keep: number;
  added: number[];
  reply: number[];
}

/** Draws of calls: `vocab` tokens, at most `calls` calls of at most `length` tokens added by each. */
export interface CallShape {
  vocab: number;
  calls: number;
  length: number;
}

/**
 * Calls that form a trie with shared roots, deep chains, wide branches, nodes of one token and samples that coincide:
 * each call goes on from some beginning of an earlier call's prompt and reply, or from nothing, or repeats a call.
 */
export function randomCalls({ vocab, calls, length }: CallShape): fc.Arbitrary<TrieCall[]> {
  const token = fc.integer({ min: 0, max: vocab - 1 });
  const step: fc.Arbitrary<Step> = fc.record({
    from: fc.nat(),
    keep: fc.nat(),
    added: fc.array(token, { maxLength: length }),
    reply: fc.array(token, { minLength: 1, maxLength: length }),
  });
  const repeat = fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
  return fc.array(fc.tuple(step, repeat), { minLength: 1, maxLength: calls }).map((steps) => {
    const made: TrieCall[] = [];
    for (const [next, again] of steps) made.push(madeFrom(next, again, made));
    return made;
  });
}

function madeFrom({ from, keep, added, reply }: Step, again: boolean, made: readonly TrieCall[]): TrieCall {
  const id = `c${made.length}`;
  const origin = made[from % (made.length + 1)];
  if (origin !== undefined && again) return { ...origin, id };
  const sequence = origin === undefined ? [] : [...Array.from(origin.promptIds), ...Array.from(origin.replyIds)];
  const kept = sequence.slice(0, keep % (sequence.length + 1));
  const promptIds = [...kept, ...added];
  if (promptIds.length === 0) promptIds.push(reply[0] as number);
  const logprobs = reply.map((value, i) => -2 - ((value + i) % 3) / 2);
  return { id, attempt: "0", rollout: "r", promptIds, replyIds: reply, logprobs, versions: null };
}
