import { useEffect } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import type { TabHost } from "../tab/tab_host.ts";
import type { Say } from "./texts.ts";

function timeText(ms: number, say: Say): string {
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return say("still.seconds", { seconds });
  if (minutes < 60) return say("still.minutes", { minutes, seconds: seconds % 60 });
  return say("still.hours", { hours: Math.floor(minutes / 60), minutes: minutes % 60 });
}

/** For how long the run last stood still with its page, in milliseconds; 0 when it has not since it was started. */
function useStandstill(tab: TabHost): number {
  const [ms, setMs] = useLiveState(0);
  useEffect(
    () =>
      tab.onEvent((event) => {
        if (event.kind === "stood_still") setMs(event.ms);
        if (event.kind === "status" && event.status.phase === "opening") setMs(0);
      }),
    [tab],
  );
  return ms;
}

/** One line for a person who comes back to a page that was frozen, or to a computer that slept, in the middle of a run. */
export function Standstill({ tab, say }: { tab: TabHost; say: Say }): JSX.Element {
  const ms = useStandstill(tab);
  return <div aria-live="polite">{ms > 0 && <p class="pg-hint">{say("still", { time: timeText(ms, say) })}</p>}</div>;
}
