import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import type { RunFault } from "../../schema/run_control.ts";
import { faultOf } from "./backend.ts";
import type { Say, TextKey } from "./texts.ts";

/** A part of the page with a root of its own, which is loaded when it is first shown. */
export interface Part {
  readonly name: string;
  /** Loads the part and shows it in the element. */
  load(root: HTMLElement): Promise<{ close(): void }>;
  /** Another value shows the part anew. */
  readonly version: string;
  /** Says that it could not be loaded. */
  readonly failed: TextKey;
}

type PartState = { readonly kind: "loading" | "shown" } | { readonly kind: "failed"; readonly fault: RunFault };

/** Shows a part that is loaded on demand, and closes it when it goes; one that was not reached is loaded once it can be. */
export function MountedPart({ load, version, failed, say }: Omit<Part, "name"> & { say: Say }): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const [state, setState] = useLiveState<PartState>({ kind: "loading" });
  const [tries, setTries] = useLiveState(0);
  useEffect(() => {
    let shown: { close(): void } | null = null;
    let gone = false;
    let isFailed = false;
    let isOnlineAgain = false;
    const retry = (): void => setTries((last) => last + 1);
    const online = (): void => {
      // What was asked for before may still fail.
      isOnlineAgain = true;
      if (isFailed) retry();
    };
    addEventListener("online", online);
    if (root.current === null) return;
    // Of its own: a part that arrives after it was replaced must not draw into its successor.
    const element = document.createElement("div");
    root.current.append(element);
    setState({ kind: "loading" });
    load(element).then(
      (part) => {
        if (gone) part.close();
        else {
          shown = part;
          setState({ kind: "shown" });
        }
      },
      (thrown: unknown) => {
        if (gone) return;
        isFailed = true;
        if (isOnlineAgain) retry();
        else setState({ kind: "failed", fault: faultOf(thrown) });
      },
    );
    return () => {
      gone = true;
      removeEventListener("online", online);
      shown?.close();
      element.remove();
    };
  }, [version, tries]);
  return (
    <>
      {state.kind === "loading" && <p class="pg-main">{say("loading")}</p>}
      {state.kind === "failed" && (
        <Unreached say={say} text={failed} fault={state.fault} retry={() => setTries((last) => last + 1)} />
      )}
      <div ref={root} />
    </>
  );
}

interface UnreachedProps {
  readonly say: Say;
  readonly text: TextKey;
  readonly fault: RunFault;
  retry(): void;
}

/** Says that a part could not be loaded and what to do. */
function Unreached({ say, text, fault, retry }: UnreachedProps): JSX.Element {
  return (
    <section class="pg-main" role="alert">
      <p class="pg-error">{say(text)}</p>
      <p>{say("fault.partHow")}</p>
      <details class="pg-details">
        <summary>{say("fault.details")}</summary>
        <p lang="en">{fault.message}</p>
      </details>
      <p>
        <button type="button" class="pg-button" onClick={retry}>
          {say("retry")}
        </button>
      </p>
    </section>
  );
}
