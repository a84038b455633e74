import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { StudioTokens } from "../../../src/schema/studio_api.ts";
import { useStudio } from "./context.ts";

/** Tokens made at once: a prompt of tens of thousands must not hold up the page. */
const atOnce = 1500;

export interface TokenTextProps {
  readonly label: string;
  readonly tokens: StudioTokens;
  /** Class of each token's colour. */
  classOf(index: number): string;
  /** Changes whenever the colours do. */
  readonly colors: string;
  /** The token that was chosen; -1 for none. */
  readonly chosen: number;
  /** Absent where tokens cannot be chosen. */
  onChoose?(index: number): void;
}

/** A token as it stands in the text. Its text is text: nothing in it is ever read as markup. */
function tokenElement(text: string, index: number, className: string): HTMLSpanElement {
  const element = document.createElement("span");
  element.className = `st-token ${className}${text === "" ? " st-blank" : ""}`;
  element.dataset.at = String(index);
  const [first = "", ...lines] = text.split("\n");
  element.append(first);
  for (const line of lines) {
    // Shows where a line ends, and has no text that could be copied.
    const mark = document.createElement("span");
    mark.className = "st-return";
    element.append(mark, `\n${line}`);
  }
  return element;
}

/** Tokens as text that can be selected and copied; arrow keys go from token to token. */
export function TokenText({ label, tokens, classOf, colors, chosen, onChoose }: TokenTextProps): JSX.Element {
  const { clock } = useStudio();
  const place = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const root = place.current;
    if (root === null) return;
    const stop = new AbortController();
    root.replaceChildren();
    void fill(root, tokens, classOf, () => clock.sleep(0, stop.signal));
    return () => stop.abort();
  }, [tokens, colors]);
  useEffect(() => {
    const root = place.current;
    root?.querySelector(".st-chosen")?.classList.remove("st-chosen");
    root?.querySelector(`[data-at="${chosen}"]`)?.classList.add("st-chosen");
  }, [chosen, tokens, colors]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -tokens.ids.length, End: tokens.ids.length }[event.key];
    if (step === undefined || onChoose === undefined || event.shiftKey) return;
    event.preventDefault();
    onChoose(Math.max(0, Math.min(tokens.ids.length - 1, chosen + step)));
  };
  const onClick = (event: MouseEvent): void => {
    const at = (event.target as HTMLElement).closest<HTMLElement>("[data-at]")?.dataset.at;
    // A click that ends a selection chooses nothing.
    if (at !== undefined && getSelection()?.isCollapsed !== false) onChoose?.(Number(at));
  };
  return (
    <section aria-label={label}>
      <pre
        ref={place}
        class="st-tokens"
        {...(onChoose === undefined ? {} : { tabIndex: 0, "aria-label": label, onKeyDown, onClick })}
      />
    </section>
  );
}

async function fill(
  root: HTMLElement,
  { texts }: StudioTokens,
  classOf: (index: number) => string,
  breathe: () => Promise<void>,
): Promise<void> {
  for (let from = 0; from < texts.length; from += atOnce) {
    const part = document.createDocumentFragment();
    for (let i = from; i < Math.min(texts.length, from + atOnce); i++) {
      part.append(tokenElement(texts[i] ?? "", i, classOf(i)));
    }
    root.append(part);
    if (from + atOnce >= texts.length) return;
    try {
      await breathe();
    } catch {
      return;
    }
  }
}
