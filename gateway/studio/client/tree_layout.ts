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

/** Draws the tree from left to right, a row per leaf; the first child goes on in its parent's row. */
export function drawTree(tree: StudioTree): TreeDrawing {
  const children = new Map<number | null, StudioTree["nodes"]>();
  for (const node of tree.nodes) children.set(node.parent, [...(children.get(node.parent) ?? []), node]);
  const drawn = new Map<number, DrawnNode>();
  let rows = 0;
  let width = 0;
  // A stack, for chains of hundreds of calls; children in reverse, so that the first is drawn first.
  const stack = (children.get(null) ?? []).map((node) => ({ node, isFirst: false })).reverse();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { node, isFirst } = next;
    const parent = node.parent === null ? undefined : drawn.get(node.parent);
    const x = parent === undefined ? margin : parent.x + parent.width + gap;
    const y = isFirst && parent !== undefined ? parent.y : margin + rows++ * treeRow;
    const from = parent === undefined ? null : { x: parent.x + parent.width, y: parent.y };
    const bar = { id: node.id, x, y, width: lengthOf(node.length), tokens: node.length, from };
    drawn.set(node.id, bar);
    width = Math.max(width, x + bar.width);
    const below = children.get(node.id) ?? [];
    for (let i = below.length - 1; i >= 0; i--)
      stack.push({ node: below[i] as (typeof below)[number], isFirst: i === 0 });
  }
  const nodes = [...drawn.values()];
  return { nodes, replies: drawnReplies(tree, drawn), width: width + margin, height: margin * 2 + rows * treeRow };
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
