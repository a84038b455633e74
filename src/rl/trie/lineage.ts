import { ancestry, endDepth, type Trie, type TrieCall, type TrieNode } from "./trie.ts";

/** How a call hangs on the others of its attempt. */
export interface CallLink {
  /** Index of the call whose prompt + reply is the longest that this call's prompt starts with; -1 for none. */
  parent: number;
  /** Tokens of that prompt + reply: what this call continues verbatim. */
  prefix: number;
  /** Chain of calls that continue each other; numbered from 0 in order of the calls. */
  lineage: number;
}

/** Calls with a reply whose sequence ends at each node, in order of the calls. */
function endingCalls(trie: Trie, calls: readonly TrieCall[]): Map<number, number[]> {
  const ending = new Map<number, number[]>();
  calls.forEach((call, i) => {
    if (call.replyIds.length === 0) return;
    const node = trie.ends[i] as number;
    const list = ending.get(node);
    if (list === undefined) ending.set(node, [i]);
    else list.push(i);
  });
  return ending;
}

/**
 * Longest prefix over all calls of the same attempt, wherever they stand in time; equal ones: the first. A call is
 * not its own parent: its sequence ends after its prompt.
 */
function parentOf(
  trie: Trie,
  calls: readonly TrieCall[],
  ending: ReadonlyMap<number, number[]>,
  index: number,
): number {
  const call = calls[index] as TrieCall;
  let parent = -1;
  for (const id of ancestry(trie.nodes, trie.ends[index] as number)) {
    if (endDepth(trie.nodes[id] as TrieNode) > call.promptIds.length) break;
    const found = (ending.get(id) ?? []).find((i) => {
      const other = calls[i] as TrieCall;
      return other.rollout === call.rollout && other.attempt === call.attempt;
    });
    if (found !== undefined) parent = found;
  }
  return parent;
}

/**
 * Parent, verbatim prefix and lineage of every call, in order. The first child of a call continues its lineage, every
 * other child begins one (a branch), as does a call without a parent.
 */
export function linkCalls(trie: Trie, calls: readonly TrieCall[]): CallLink[] {
  const ending = endingCalls(trie, calls);
  const parents = calls.map((_, i) => parentOf(trie, calls, ending, i));
  const heirs = new Map<number, number>();
  parents.forEach((parent, i) => {
    if (parent >= 0 && !heirs.has(parent)) heirs.set(parent, i);
  });
  // A parent's sequence is shorter than its child's, so following heirs backwards ends at the lineage's first call.
  const founder = (index: number): number => {
    let at = index;
    for (let parent = parents[at] as number; parent >= 0 && heirs.get(parent) === at; parent = parents[at] as number) {
      at = parent;
    }
    return at;
  };
  const numbers = new Map<number, number>();
  return calls.map((_, i) => {
    const first = founder(i);
    if (!numbers.has(first)) numbers.set(first, numbers.size);
    const parent = parents[i] as number;
    const prefix = parent < 0 ? 0 : endDepth(trie.nodes[trie.ends[parent] as number] as TrieNode);
    return { parent, prefix, lineage: numbers.get(first) as number };
  });
}
