import type { Numbers } from "./masked.ts";
import { linkCalls } from "./trie/lineage.ts";
import { buildTrie, type TrieCall } from "./trie/trie.ts";

/** What a call earned itself. */
export interface EarningCall {
  reward?: number;
  tokenRewards?: Numbers;
}

/** True when a call has rewards of its own. */
export function earnsItself(call: EarningCall): boolean {
  return call.reward !== undefined || call.tokenRewards !== undefined;
}

/** Sum of what a call earned itself. */
export function earned({ reward = 0, tokenRewards = [] }: EarningCall): number {
  return Array.prototype.reduce.call(tokenRewards, (a, b) => (a as number) + (b as number), reward) as number;
}

/**
 * What each call is credited with, in order: its own earnings and, times `discount`, those of the calls that continue
 * it. Rewards flow along the tree of prompts, never along time: what one branch earns says nothing of a parallel one.
 */
export function treeReturns(calls: readonly (TrieCall & EarningCall)[], discount: number): Float64Array {
  const links = linkCalls(buildTrie(calls), calls);
  const out = Float64Array.from(calls, earned);
  // A child's sequence is longer than its parent's, so longest first sees every child before its parent.
  const length = (i: number): number => (calls[i]?.promptIds.length ?? 0) + (calls[i]?.replyIds.length ?? 0);
  const order = [...calls.keys()].sort((a, b) => length(b) - length(a));
  for (const i of order) {
    const parent = links[i]?.parent ?? -1;
    if (parent >= 0) out[parent] = (out[parent] as number) + discount * (out[i] as number);
  }
  return out;
}
