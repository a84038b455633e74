import type { BreakReason } from "../../schema/chat.ts";
import type { CallRecord } from "../../schema/store.ts";
import { linkCalls } from "./lineage.ts";
import { buildTrie, type TrieCall } from "./trie.ts";

/** One call of a rollout's tree. Token counts are positions in its own prompt + reply. */
export interface TreeCall {
  id: string;
  attempt: string;
  /** The call whose prompt and reply this call's prompt begins with, the longest one; null for none. */
  parent: string | null;
  /** Tokens of that prompt and reply. */
  prefix: number;
  prompt_len: number;
  /** Node where prompt and reply end; null for a call without tokens. */
  node: number | null;
  /** Chain of calls that continue each other, numbered from 0. */
  lineage: number;
  /** Why a call that is not its attempt's first has no parent. */
  break: BreakReason | null;
  /** Whether the harness got the whole reply. */
  delivered: boolean;
  /** Model that answered. */
  policy: string;
}

/** A run of tokens in the tree; parents stand before their children, and a root's parent is null. */
export interface TreeNode {
  id: number;
  parent: number | null;
  ids: number[];
  /** Position in the sequence of the first id. */
  start_depth: number;
}

/** The tokens that a call drew: they begin at `offset` in `node` and go on towards the call's own node. */
export interface TreeSample {
  call: string;
  node: number;
  offset: number;
  /** Null when none were recorded. */
  logprobs: number[] | null;
  versions: number[] | null;
}

/** A rollout as the prefix tree of its calls: plain JSON. */
export interface RolloutTree {
  rollout: string;
  calls: TreeCall[];
  nodes: TreeNode[];
  samples: TreeSample[];
}

function trieCall({ id, attemptId, rolloutId, tokens }: CallRecord): TrieCall {
  const { promptIds, replyIds, logprobs, versions } = tokens;
  return {
    id,
    attempt: attemptId,
    rollout: rolloutId,
    promptIds,
    replyIds,
    logprobs: logprobs.length === replyIds.length ? logprobs : null,
    versions,
  };
}

/** The tree of a rollout's calls, given in order of writing; all attempts share it. */
export function rolloutTree(rollout: string, records: readonly CallRecord[]): RolloutTree {
  const calls = records.map(trieCall);
  const trie = buildTrie(calls);
  const links = linkCalls(trie, calls);
  return {
    rollout,
    calls: records.map((record, i) => {
      const { parent, prefix, lineage } = links[i] as (typeof links)[number];
      const node = trie.ends[i] as number;
      return {
        id: record.id,
        attempt: record.attemptId,
        parent: records[parent]?.id ?? null,
        prefix,
        prompt_len: record.tokens.promptIds.length,
        node: node < 0 ? null : node,
        lineage,
        break: parent < 0 ? record.breakReason : null,
        delivered: record.delivery === "delivered",
        policy: record.policy,
      };
    }),
    nodes: trie.nodes.map(({ id, parent, ids, startDepth }) => ({
      id,
      parent: parent < 0 ? null : parent,
      ids: [...ids],
      start_depth: startDepth,
    })),
    samples: trie.samples.map(({ call, node, offset, logprobs, versions }) => ({
      call: (records[call] as CallRecord).id,
      node,
      offset,
      logprobs: logprobs && Array.from(logprobs),
      versions: versions && Array.from(versions),
    })),
  };
}
