import { useEffect } from "hono/jsx/dom";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import type { RunStatus } from "../../schema/run_control.ts";
import type { TabHost } from "../tab/tab_host.ts";

/** The status of the tab's run, as it is now. */
export function useTabStatus(tab: TabHost): RunStatus {
  const [status, setStatus] = useLiveState(tab.status);
  useEffect(() => {
    setStatus(tab.status);
    return tab.onEvent((event) => {
      if (event.kind === "status") setStatus(event.status);
    });
  }, [tab]);
  return status;
}
