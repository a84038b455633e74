import { useEffect } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import type { TabHost } from "../tab/tab_host.ts";
import type { Say } from "./texts.ts";

/** What a command would say in its terminal: what a run goes on from, what it could not keep. */
export function SaidLines({ tab, say }: { tab: TabHost; say: Say }): JSX.Element | null {
  const [lines, setLines] = useLiveState<readonly string[]>([...tab.lines]);
  useEffect(() => tab.onEvent(({ kind }) => void (kind === "said" && setLines([...tab.lines]))), [tab]);
  if (lines.length === 0) return null;
  return (
    <details class="pg-details">
      <summary>{say("said", { count: lines.length })}</summary>
      <ul>
        {lines.map((line, i) => (
          <li key={String(i)}>{line}</li>
        ))}
      </ul>
    </details>
  );
}
