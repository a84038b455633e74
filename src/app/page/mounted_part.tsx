import { useEffect, useRef, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";

/** A part of the page with a root of its own, which is loaded when it is first shown. */
export interface PartProps {
  /** Loads the part and shows it in the element. */
  load(root: HTMLElement): Promise<{ close(): void }>;
  /** Another value shows the part anew. */
  readonly version: string;
  readonly loading: string;
  readonly failed: string;
}

/** Shows a part that is loaded on demand, and closes it when it goes. */
export function MountedPart({ load, version, loading, failed }: PartProps): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"loading" | "shown" | "failed">("loading");
  useEffect(() => {
    let shown: { close(): void } | null = null;
    let gone = false;
    if (root.current === null) return;
    // Of its own: a part that arrives after it was replaced must not draw into its successor.
    const element = document.createElement("div");
    root.current.append(element);
    setState("loading");
    load(element).then(
      (part) => {
        if (gone) part.close();
        else {
          shown = part;
          setState("shown");
        }
      },
      (thrown: unknown) => {
        reportError(thrown);
        setState("failed");
      },
    );
    return () => {
      gone = true;
      shown?.close();
      element.remove();
    };
  }, [version]);
  return (
    <>
      {state === "loading" && <p class="pg-main">{loading}</p>}
      {state === "failed" && (
        <p class="pg-main pg-error" role="alert">
          {failed}
        </p>
      )}
      <div ref={root} />
    </>
  );
}
