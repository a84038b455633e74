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
  const answered = useRef(false);
  useEffect(() => {
    if (dialog.current?.open === false) dialog.current.showModal();
  }, []);
  // The close event comes in a later task than the focus goes back, and a key may be faster: no button waits for it.
  const settle = (yes: boolean): void => {
    if (answered.current) return;
    answered.current = true;
    // Closing gives the focus back, which leaving the document would not.
    dialog.current?.close();
    answer(yes);
  };
  return (
    <dialog
      ref={dialog}
      class="pg-dialog"
      role="alertdialog"
      aria-labelledby="pg-confirm"
      aria-describedby="pg-confirm-text"
      onClose={() => settle(false)}
    >
      <h2 id="pg-confirm">{title}</h2>
      <p id="pg-confirm-text">{text}</p>
      <div class="pg-buttons">
        <button type="button" class="pg-button pg-primary" onClick={() => settle(false)}>
          {no}
        </button>
        <button type="button" class="pg-button" onClick={() => settle(true)}>
          {yes}
        </button>
      </div>
    </dialog>
  );
}
