import type { Call } from "../call.ts";
import type { Numbers } from "../masked.ts";

/** A call of a group's trie with the rollout that made it. */
export interface TrieCall extends Call {
  rollout: string;
}

/** A run of tokens that no call leaves or ends within. */
export interface TrieNode {
  /** Index in the trie's list; parents come before their children. */
  id: number;
  /** -1 for a root. */
  parent: number;
  ids: Int32Array;
  /** Position in the sequence of the node's first token. */
  startDepth: number;
  /** In order of their first token. */
  children: number[];
}

/** The tokens that one call drew, in place. The path goes on from `node` towards the call's last node. */
export interface Sample {
  /** Index of the call. */
  call: number;
  /** Node of the first sampled token, and that token's index within the node. */
  node: number;
  offset: number;
  /** Position in the sequence of the first sampled token: the prompt's length. */
  startDepth: number;
  ids: Numbers;
  logprobs: Numbers | null;
  versions: Numbers | null;
}

/**
 * Prefix tree over prompt + reply of every call. It is for compute: shared prefixes stand once, samples point into it,
 * and several samples may cover one node, each its own event. Its form does not depend on the order of the calls.
 */
export interface Trie {
  nodes: TrieNode[];
  /** Node where each call's sequence ends; -1 for a call without any token. */
  ends: Int32Array;
  /** Of the calls with a reply, in the calls' order. */
  samples: Sample[];
}

/** A node while the tree grows: tokens [from, to) of one call's sequence. */
interface Growing {
  ids: Int32Array;
  children: Map<number, Growing>;
}

/** Prompt and reply as one sequence. */
function sequenceOf(call: Call): Int32Array {
  const out = new Int32Array(call.promptIds.length + call.replyIds.length);
  out.set(call.promptIds, 0);
  out.set(call.replyIds, call.promptIds.length);
  return out;
}

/** Splits a node so that its first `at` tokens stand alone. */
function split(node: Growing, at: number): void {
  const rest: Growing = { ids: node.ids.subarray(at), children: node.children };
  node.children = new Map([[rest.ids[0] as number, rest]]);
  node.ids = node.ids.subarray(0, at);
}

/** Adds a sequence; afterwards it ends at a node's end. */
function insert(root: Growing, sequence: Int32Array): void {
  let node = root;
  let depth = 0;
  while (depth < sequence.length) {
    const child = node.children.get(sequence[depth] as number);
    if (child === undefined) {
      node.children.set(sequence[depth] as number, { ids: sequence.subarray(depth), children: new Map() });
      return;
    }
    let same = 1;
    const most = Math.min(child.ids.length, sequence.length - depth);
    while (same < most && child.ids[same] === sequence[depth + same]) same++;
    if (same < child.ids.length) split(child, same);
    node = child;
    depth += same;
  }
}

/** Nodes in depth-first order, children by first token, so that equal sets of sequences give equal lists. */
function flatten(root: Growing): TrieNode[] {
  const nodes: TrieNode[] = [];
  const stack: { node: Growing; parent: number; startDepth: number }[] = [];
  const push = (node: Growing, parent: number, startDepth: number): void => {
    const keys = [...node.children.keys()].sort((a, b) => b - a);
    for (const key of keys) stack.push({ node: node.children.get(key) as Growing, parent, startDepth });
  };
  push(root, -1, 0);
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const id = nodes.length;
    nodes.push({ id, parent: next.parent, ids: next.node.ids, startDepth: next.startDepth, children: [] });
    if (next.parent >= 0) (nodes[next.parent] as TrieNode).children.push(id);
    push(next.node, id, next.startDepth + next.node.ids.length);
  }
  return nodes;
}

/** Builds the trie of some calls in O(tokens). */
export function buildTrie(calls: readonly TrieCall[]): Trie {
  const root: Growing = { ids: new Int32Array(0), children: new Map() };
  const sequences = calls.map(sequenceOf);
  for (const sequence of sequences) insert(root, sequence);
  const nodes = flatten(root);
  const roots = new Map(nodes.filter((n) => n.parent < 0).map((n) => [n.ids[0] as number, n.id]));
  const ends = new Int32Array(calls.length).fill(-1);
  const samples: Sample[] = [];
  calls.forEach((call, index) => {
    const path = pathOf(nodes, roots, sequences[index] as Int32Array);
    ends[index] = path.at(-1) ?? -1;
    if (call.replyIds.length === 0) return;
    const startDepth = call.promptIds.length;
    const node = path.find((id) => endDepth(nodes[id] as TrieNode) > startDepth) as number;
    samples.push({
      call: index,
      node,
      offset: startDepth - (nodes[node] as TrieNode).startDepth,
      startDepth,
      ids: call.replyIds,
      logprobs: call.logprobs,
      versions: call.versions,
    });
  });
  return { nodes, ends, samples };
}

/** Position after the node's last token. */
export function endDepth(node: TrieNode): number {
  return node.startDepth + node.ids.length;
}

/** Nodes from the root that spell a sequence which the trie holds. */
function pathOf(nodes: readonly TrieNode[], roots: ReadonlyMap<number, number>, sequence: Int32Array): number[] {
  const path: number[] = [];
  let next = roots.get(sequence[0] ?? -1);
  while (next !== undefined) {
    path.push(next);
    const node = nodes[next] as TrieNode;
    const token = sequence[endDepth(node)];
    next = node.children.find((id) => (nodes[id] as TrieNode).ids[0] === token);
  }
  return path;
}

/** Nodes from the root down to `node`. */
export function ancestry(nodes: readonly TrieNode[], node: number): number[] {
  const path: number[] = [];
  for (let id = node; id >= 0; id = (nodes[id] as TrieNode).parent) path.push(id);
  return path.reverse();
}
