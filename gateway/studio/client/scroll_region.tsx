import type { PropsWithChildren } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";

/** Wide or long things that scroll by themselves, with the keyboard too. */
export function ScrollRegion({ label, children }: PropsWithChildren<{ label: string }>): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keys
    <section class="st-scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
