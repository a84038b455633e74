import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";

/** What is asked before something is lost. */
export interface ConfirmProps {
  readonly title: string;
  /** What is lost, and what else can be done. */
  readonly text: string;
  /** Names of the answers. */
  readonly yes: string;
  readonly no: string;
  /** Told once; closing the dialog, with Escape say, is a no. */
  answer(yes: boolean): void;
}

/** Asks before something is lost; the answer that loses nothing has the focus at first. */
export function ConfirmDialog({ title, text, yes, no, answer }: ConfirmProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (dialog.current?.open === false) dialog.current.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="pg-dialog"
      role="alertdialog"
      aria-labelledby="pg-confirm"
      aria-describedby="pg-confirm-text"
      onClose={() => answer(dialog.current?.returnValue === "yes")}
    >
      <h2 id="pg-confirm">{title}</h2>
      <p id="pg-confirm-text">{text}</p>
      <div class="pg-buttons">
        <button type="button" class="pg-button pg-primary" onClick={() => dialog.current?.close("no")}>
          {no}
        </button>
        <button type="button" class="pg-button" onClick={() => dialog.current?.close("yes")}>
          {yes}
        </button>
      </div>
    </dialog>
  );
}
