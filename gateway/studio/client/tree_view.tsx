import { useMemo } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { StudioCallLine, StudioTree } from "../../../src/schema/studio_api.ts";
import { useStudio } from "./context.ts";
import { hrefTo } from "./router.ts";
import { type DrawnNode, type DrawnReply, drawTree } from "./tree_layout.ts";

const barHeight = 14;

export interface TreeViewProps {
  readonly tree: StudioTree;
  readonly calls: readonly StudioCallLine[];
  readonly open: string;
  /** Advantage of each call, its mean where its tokens have several. */
  readonly advantages: ReadonlyMap<string, number>;
}

/** The prefix tree of a rollout: shared prompts once, replies in the colour of their advantage. */
export function TreeView({ tree, calls, open, advantages }: TreeViewProps): JSX.Element {
  const { say } = useStudio();
  const drawing = useMemo(() => drawTree(tree), [tree]);
  const numbers = new Map(calls.map((call, i) => [call.id, i + 1]));
  const rollout = calls[0]?.rollout ?? "";
  return (
    <details class="st-more" open>
      <summary>{say("tree.title", { nodes: tree.nodes.length, calls: calls.length })}</summary>
      <div class="st-tree-frame">
        <svg class="st-tree" width={drawing.width} height={drawing.height}>
          <title>{say("tree.label", { nodes: tree.nodes.length, calls: calls.length })}</title>
          {drawing.nodes.map((node) => (
            <Bar key={`n${node.id}`} node={node} />
          ))}
          {drawing.replies.map((reply, i) => (
            <Reply
              key={`r${i}`}
              reply={reply}
              href={hrefTo(["rollouts", rollout, reply.call])}
              number={numbers.get(reply.call) ?? 0}
              isOpen={reply.call === open}
              advantage={advantages.get(reply.call)}
            />
          ))}
        </svg>
      </div>
      <p class="st-hint">{say("tree.hint")}</p>
    </details>
  );
}

function Bar({ node }: { node: DrawnNode }): JSX.Element {
  const { say } = useStudio();
  const middle = node.y + barHeight / 2;
  const { from } = node;
  return (
    <g>
      {from === null ? null : (
        <path
          class="st-tree-line"
          d={`M${from.x} ${from.y + barHeight / 2} C${from.x + 8} ${from.y + barHeight / 2} ${node.x - 8} ${middle} ${node.x} ${middle}`}
        />
      )}
      <rect class="st-tree-bar" x={node.x} y={node.y} width={node.width} height={barHeight} rx={3}>
        <title>{say("tree.node", { n: node.tokens })}</title>
      </rect>
      {node.width > 44 ? (
        <text class="st-tree-count" x={node.x + 5} y={middle + 3.5}>
          {node.tokens}
        </text>
      ) : null}
    </g>
  );
}

interface ReplyProps {
  readonly reply: DrawnReply;
  readonly href: string;
  readonly number: number;
  readonly isOpen: boolean;
  readonly advantage: number | undefined;
}

function Reply({ reply, href, number, isOpen, advantage }: ReplyProps): JSX.Element {
  const { say } = useStudio();
  const sign = advantage === undefined ? "none" : advantage > 0 ? "up" : advantage < 0 ? "down" : "zero";
  return (
    <a href={href} aria-label={say("call.title", { n: number })} {...(isOpen ? { "aria-current": "true" } : {})}>
      <rect
        class={`st-tree-reply st-tree-${sign}${isOpen ? " st-tree-open" : ""}`}
        x={reply.x}
        y={reply.y}
        width={Math.max(3, reply.width)}
        height={barHeight}
        rx={3}
      >
        <title>{say("call.title", { n: number })}</title>
      </rect>
      {reply.width > 16 ? (
        <text class="st-tree-number" x={reply.x + 4} y={reply.y + barHeight / 2 + 3.5}>
          {number}
        </text>
      ) : null}
    </a>
  );
}
