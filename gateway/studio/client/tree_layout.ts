import type { StudioTree } from "../../../src/schema/studio_api.ts";

/** A node of the tree as it is drawn: a bar whose length grows with the root of its tokens. */
export interface DrawnNode {
  readonly id: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly tokens: number;
  /** Where the line from its parent begins; null for a root. */
  readonly from: { readonly x: number; readonly y: number } | null;
}

/** A piece of what a call drew, in one node. */
export interface DrawnReply {
  readonly call: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** The tree as a drawing, in pixels. */
export interface TreeDrawing {
  readonly nodes: readonly DrawnNode[];
  readonly replies: readonly DrawnReply[];
  readonly width: number;
  readonly height: number;
}

/** Height of a row, and the gap between a node and its children. */
export const treeRow = 26;
const gap = 14;
const margin = 12;

/** Long prompts beside short replies: the root keeps both in sight. */
function lengthOf(tokens: number): number {
  return 8 + 5 * Math.sqrt(tokens);
}

/** A run of nodes that is drawn in one row: from a node to the deepest leaf below it. */
interface Chain {
  readonly nodes: StudioTree["nodes"];
  readonly from: DrawnNode | null;
}

/** Depth in tokens that each node reaches with what is below it, by id; parents stand before children. */
function reachOf(nodes: StudioTree["nodes"]): Map<number, number> {
  const reach = new Map(nodes.map((node) => [node.id, node.start + node.length]));
  for (const node of [...nodes].reverse()) {
    if (node.parent === null) continue;
    reach.set(node.parent, Math.max(reach.get(node.parent) ?? 0, reach.get(node.id) ?? 0));
  }
  return reach;
}

/** Rows in which nothing overlaps: where each is taken. */
class Rows {
  private readonly taken: [from: number, to: number][][] = [];

  /** The first row from `at` on that is free between two places, which then are taken. */
  place(at: number, from: number, to: number): number {
    for (let row = at; ; row++) {
      const line = this.taken[row] ?? [];
      if (line.some(([a, b]) => from < b && a < to)) continue;
      while (this.taken.length <= row) this.taken.push([]);
      this.taken[row]?.push([from, to]);
      return row;
    }
  }

  get count(): number {
    return this.taken.length;
  }
}

/** Draws the tree from left to right: the way to the deepest leaf goes straight on, what branches off lies below. */
export function drawTree(tree: StudioTree): TreeDrawing {
  const reach = reachOf(tree.nodes);
  const children = new Map<number | null, StudioTree["nodes"]>();
  for (const node of tree.nodes) children.set(node.parent, [...(children.get(node.parent) ?? []), node]);
  for (const list of children.values()) list.sort((a, b) => (reach.get(b.id) ?? 0) - (reach.get(a.id) ?? 0));
  const drawn = new Map<number, DrawnNode>();
  const rows = new Rows();
  let width = 0;
  const waiting: Chain[] = (children.get(null) ?? []).map((node) => ({ nodes: chainFrom(node, children), from: null }));
  // Chains wait in a list, for conversations of hundreds of calls.
  for (let chain = waiting.shift(); chain !== undefined; chain = waiting.shift()) {
    const { nodes, from } = chain;
    const start = from === null ? margin : from.x + from.width + gap;
    const length = nodes.reduce((sum, node) => sum + lengthOf(node.length) + gap, 0);
    const above = from === null ? 0 : Math.round((from.y - margin) / treeRow) + 1;
    const y = margin + rows.place(above, start, start + length) * treeRow;
    let before = from;
    for (const node of nodes) {
      const x = before === null ? margin : before.x + before.width + gap;
      const line = before === null ? null : { x: before.x + before.width, y: before.y };
      const bar = { id: node.id, x, y, width: lengthOf(node.length), tokens: node.length, from: line };
      drawn.set(node.id, bar);
      width = Math.max(width, x + bar.width);
      before = bar;
      for (const branch of (children.get(node.id) ?? []).slice(1)) {
        waiting.push({ nodes: chainFrom(branch, children), from: bar });
      }
    }
  }
  const nodes = [...drawn.values()];
  return {
    nodes,
    replies: drawnReplies(tree, drawn),
    width: width + margin,
    height: margin * 2 + rows.count * treeRow,
  };
}

function chainFrom(
  first: StudioTree["nodes"][number],
  children: ReadonlyMap<number | null, StudioTree["nodes"]>,
): StudioTree["nodes"] {
  const chain = [first];
  for (let next = children.get(first.id)?.[0]; next !== undefined; next = children.get(next.id)?.[0]) chain.push(next);
  return chain;
}

/** Where each reply lies: from its first token's node along the path to the call's end. */
function drawnReplies(tree: StudioTree, drawn: ReadonlyMap<number, DrawnNode>): DrawnReply[] {
  const byId = new Map(tree.nodes.map((node) => [node.id, node]));
  return tree.calls.flatMap(({ call, end, node: first, offset, length }) => {
    if (end === null || first === null || length === 0) return [];
    const path: StudioTree["nodes"] = [];
    for (let at: number | null = end; at !== null; at = byId.get(at)?.parent ?? null) {
      const node = byId.get(at);
      if (node === undefined) break;
      path.unshift(node);
      if (at === first) break;
    }
    return path.flatMap((node) => {
      const bar = drawn.get(node.id);
      if (bar === undefined || node.length === 0) return [];
      const skipped = node.id === first ? offset : 0;
      const share = skipped / node.length;
      return [{ call, x: bar.x + bar.width * share, y: bar.y, width: bar.width * (1 - share) }];
    });
  });
}
