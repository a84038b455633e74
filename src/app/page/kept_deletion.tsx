import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import { sizeText } from "../size_text.ts";
import { ConfirmDialog } from "./confirm_dialog.tsx";
import type { Say } from "./texts.ts";

/** One thing that is kept, and how it is deleted. */
export interface DeletionProps {
  readonly say: Say;
  readonly busy: boolean;
  readonly id: string;
  readonly name: string;
  readonly sizeBytes: number;
  readonly inUse: boolean;
  remove(): Promise<void>;
}

/** Deletes one thing, after a question; says why not while a run needs it. */
export function Deletion({ say, busy, id, name, sizeBytes, inUse, remove }: DeletionProps): JSX.Element {
  const [asks, setAsks] = useLiveState(false);
  const reason = `pg-in-use-${id}`;
  const answer = (yes: boolean): void => {
    setAsks(false);
    if (yes) void remove();
  };
  return (
    <>
      <button
        type="button"
        class="pg-button"
        disabled={busy || inUse}
        aria-label={say("kept.deleteOne", { name })}
        {...(inUse ? { "aria-describedby": reason } : {})}
        onClick={() => setAsks(true)}
      >
        {say("kept.delete")}
      </button>
      {inUse && (
        <p class="pg-hint" id={reason}>
          {say("kept.inUse")}
        </p>
      )}
      {asks && (
        <ConfirmDialog
          title={say("kept.deleteOne", { name })}
          text={say("kept.sure", { name, size: sizeText(sizeBytes) })}
          yes={say("kept.yes")}
          no={say("kept.no")}
          answer={answer}
        />
      )}
    </>
  );
}
