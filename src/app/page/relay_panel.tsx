import { useEffect } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import type { PageBackend } from "./backend.ts";
import { keptToken, RelayClient, type RelayState } from "./relay_client.ts";
import type { Say } from "./texts.ts";

/** What the relay's state means for the person. */
export function RelayPanel({ state, say }: { state: RelayState; say: Say }): JSX.Element {
  const text = {
    connecting: say("relay.connecting"),
    open: say("relay.open"),
    used: say("relay.used"),
    closed: say("relay.closed", { reason: state.reason }),
  }[state.phase];
  return (
    <section class="pg-notice pg-info" aria-labelledby="pg-relay">
      <h2 id="pg-relay">{say("relay.title")}</h2>
      <p role="status">{text}</p>
      {state.answered > 0 && <p class="pg-hint">{say("relay.calls", { count: state.answered })}</p>}
      {state.unread > 0 && <p class="pg-hint">{say("relay.unread", { count: state.unread })}</p>}
    </section>
  );
}

/** The connection to the relay that sent the page; null when none did. */
export function useRelay(backend: PageBackend | null, token: string | null): RelayState | null {
  const [state, setState] = useLiveState<RelayState | null>(null);
  useEffect(() => {
    if (backend === null || backend.setting.kind !== "relay") return;
    const client = new RelayClient(backend, token ?? keptToken() ?? "", setState);
    return () => client.close();
  }, [backend]);
  return state;
}
