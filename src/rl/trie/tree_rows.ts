import type { TrainRow } from "../../schema/engine.ts";
import type { Numbers } from "../masked.ts";
import { ancestry, type Trie, type TrieNode } from "./trie.ts";

/** A sample that is trained, with what its records carry. */
export interface TrainedSample {
  /** Index in the trie's samples. */
  sample: number;
  weight: number;
  advantage: number;
  oldLogprobs: Numbers;
}

/** A training row of a trie, with the origin of its records. */
export interface TreeRow {
  row: TrainRow;
  /** Sample of each record, and the index of its token among the sampled ones. */
  sample: Int32Array;
  token: Int32Array;
}

/** A trie laid out for the device. */
export interface TreeLayout {
  rows: TreeRow[];
  /** Tokens over all rows, and how many of them are prefixes repeated because the tree did not fit one row. */
  tokens: number;
  repeatedTokens: number;
  /** Rows longer than the budget, because a single path is. */
  rowsOverBudget: number;
}

/** Records whose hidden state stands in one node: tokens [from, to) of a sample. */
interface Span {
  trained: TrainedSample;
  from: number;
  to: number;
}

/** What has to be computed of each node, and the records that are predicted from it. */
interface Needs {
  /** Leading tokens of the node; 0 leaves it out. What no record depends on is not computed. */
  length: Int32Array;
  spans: Span[][];
}

function needsOf(trie: Trie, trained: readonly TrainedSample[]): Needs {
  const length = new Int32Array(trie.nodes.length);
  const spans: Span[][] = trie.nodes.map(() => []);
  for (const event of trained) {
    const sample = trie.samples[event.sample] as Trie["samples"][number];
    // Token k stands at depth startDepth + k and is predicted from the depth before. The first token of an empty
    // prompt has nothing before it.
    const firstToken = sample.startDepth === 0 ? 1 : 0;
    const endSource = sample.startDepth + sample.ids.length - 1;
    for (const id of ancestry(trie.nodes, trie.ends[sample.call] as number)) {
      const node = trie.nodes[id] as TrieNode;
      const needed = Math.min(node.ids.length, endSource - node.startDepth);
      if (needed <= 0) break;
      length[id] = Math.max(length[id] as number, needed);
      const from = Math.max(firstToken, node.startDepth + 1 - sample.startDepth);
      const to = node.startDepth + needed + 1 - sample.startDepth;
      if (from < to) (spans[id] as Span[]).push({ trained: event, from, to });
    }
  }
  return { length, spans };
}

/** A row while it is filled: nodes in depth-first order and where each begins. */
interface OpenRow {
  placed: Map<number, number>;
  length: number;
  /** Nodes whose records this row carries. */
  carried: number[];
}

/** Ends of subtrees: one past the last token that descends from each placed node. */
function subtreeEnds(trie: Trie, open: OpenRow, needed: Int32Array): Map<number, number> {
  const ends = new Map<number, number>();
  for (const [id, start] of [...open.placed].reverse()) {
    const end = Math.max(start + (needed[id] as number), ends.get(id) ?? 0);
    ends.set(id, end);
    const parent = (trie.nodes[id] as TrieNode).parent;
    if (parent >= 0) ends.set(parent, Math.max(end, ends.get(parent) ?? 0));
  }
  return ends;
}

function fillTokens(trie: Trie, open: OpenRow, needed: Int32Array): Required<Pick<TrainRow, "ids" | "pos" | "end">> {
  const ids = new Int32Array(open.length);
  const pos = new Int32Array(open.length);
  const end = new Int32Array(open.length);
  const ends = subtreeEnds(trie, open, needed);
  for (const [id, start] of open.placed) {
    const node = trie.nodes[id] as TrieNode;
    const length = needed[id] as number;
    ids.set(node.ids.subarray(0, length), start);
    for (let t = 0; t < length; t++) pos[start + t] = node.startDepth + t;
    end.fill(ends.get(id) as number, start, start + length);
  }
  return { ids, pos, end };
}

function closeRow(trie: Trie, open: OpenRow, needs: Needs): TreeRow {
  const spans = open.carried.flatMap((id) => (needs.spans[id] as Span[]).map((span) => ({ id, span })));
  const count = spans.reduce((n, { span }) => n + span.to - span.from, 0);
  const row: TrainRow = {
    ...fillTokens(trie, open, needs.length),
    src: new Int32Array(count),
    target: new Int32Array(count),
    weight: new Float32Array(count),
    advantage: new Float32Array(count),
    oldLogprob: new Float32Array(count),
  };
  const out: TreeRow = { row, sample: new Int32Array(count), token: new Int32Array(count) };
  let r = 0;
  for (const { id, span } of spans) {
    const sample = trie.samples[span.trained.sample] as Trie["samples"][number];
    // Index in the row of the token before the sample's token 0, counted through this node.
    const before = (open.placed.get(id) as number) + sample.startDepth - 1 - (trie.nodes[id] as TrieNode).startDepth;
    for (let k = span.from; k < span.to; k++, r++) {
      row.src[r] = before + k;
      row.target[r] = sample.ids[k] as number;
      row.weight[r] = span.trained.weight;
      row.advantage[r] = span.trained.advantage;
      row.oldLogprob[r] = span.trained.oldLogprobs[k] as number;
      out.sample[r] = span.trained.sample;
      out.token[r] = k;
    }
  }
  return out;
}

/**
 * Lays the needed part of a trie out depth-first as training rows of at most `maxTokens` tokens: pos is the depth, end
 * the end of the token's subtree, and each record's src the token before its target, so that a branching node's last
 * token predicts several next tokens. Where the tree does not fit, a new row repeats the path to the next leaf; every
 * record stands in exactly one row. A single path longer than the budget is a row of its own, counted.
 */
export function treeRows(trie: Trie, trained: readonly TrainedSample[], maxTokens: number): TreeLayout {
  const needs = needsOf(trie, trained);
  const layout: TreeLayout = { rows: [], tokens: 0, repeatedTokens: 0, rowsOverBudget: 0 };
  const seen = new Uint8Array(trie.nodes.length);
  let open: OpenRow = { placed: new Map(), length: 0, carried: [] };
  const close = (): void => {
    if (open.length === 0) return;
    layout.tokens += open.length;
    if (open.length > maxTokens) layout.rowsOverBudget++;
    layout.rows.push(closeRow(trie, open, needs));
    open = { placed: new Map(), length: 0, carried: [] };
  };
  const cost = (path: readonly number[]): number =>
    path.reduce((n, id) => n + (open.placed.has(id) ? 0 : (needs.length[id] as number)), 0);
  for (const leaf of neededLeaves(trie, needs.length)) {
    const path = ancestry(trie.nodes, leaf);
    if (open.length + cost(path) > maxTokens) close();
    for (const id of path) {
      if (open.placed.has(id)) continue;
      open.placed.set(id, open.length);
      open.length += needs.length[id] as number;
      if (seen[id] === 1) layout.repeatedTokens += needs.length[id] as number;
      else open.carried.push(id);
      seen[id] = 1;
    }
  }
  close();
  return layout;
}

/** Needed nodes without a needed child, in depth-first order. */
function neededLeaves(trie: Trie, needed: Int32Array): number[] {
  return trie.nodes
    .filter((node) => (needed[node.id] as number) > 0 && node.children.every((id) => needed[id] === 0))
    .map((node) => node.id);
}
