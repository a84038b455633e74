import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useStudio } from "./context.ts";
import { goTo, hrefTo } from "./router.ts";
import type { TextKey } from "./texts.ts";

/** Keys with what they do; those without an address are the list's own. */
const keys: readonly (readonly [key: string, text: TextKey, place: readonly string[] | null])[] = [
  ["1", "nav.overview", []],
  ["2", "nav.rollouts", ["rollouts"]],
  ["3", "nav.timeline", ["timeline"]],
  ["4", "nav.compare", ["compare"]],
  ["/", "keys.search", null],
  ["?", "keys.help", null],
];

/** Keys that parts of the page take while they have the focus. */
const within: readonly (readonly [key: string, text: TextKey])[] = [
  ["↑ ↓", "keys.rows"],
  ["Home End", "keys.ends"],
  ["Enter", "keys.open"],
  ["← →", "keys.tokens"],
  ["Esc", "keys.close"],
];

/** True while somebody types. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;
}

/** Listens for shortcuts, and lists them in a dialog. */
export function Shortcuts(): JSX.Element {
  const { say } = useStudio();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const found = keys.find(([key]) => key === event.key);
      if (found === undefined || !location.hash.match(/^(#\/|#?$)/)) return;
      event.preventDefault();
      if (found[2] !== null) goTo(hrefTo(found[2]));
      else if (found[0] === "/") focusSearch();
      else if (!dialog.current?.open) dialog.current?.showModal();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  return (
    <dialog ref={dialog} class="st-dialog" aria-labelledby="st-keys-title">
      <h2 id="st-keys-title">{say("keys.title")}</h2>
      <dl class="st-keys">
        {[...keys, ...within].map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{say(text)}</dd>
          </div>
        ))}
      </dl>
      <button type="button" class="st-button" onClick={() => dialog.current?.close()}>
        {say("keys.done")}
      </button>
    </dialog>
  );
}

function focusSearch(): void {
  const field = document.getElementById("st-search");
  if (field !== null) field.focus();
  else goTo(hrefTo(["rollouts"]));
}

/** Opens the list of shortcuts, as "?" does. */
export function openShortcuts(): void {
  dispatchEvent(new KeyboardEvent("keydown", { key: "?" }));
}
