import { useEffect } from "hono/jsx/dom";
import { useLiveState } from "./live_state.ts";

/** Colours of the page as its style sheet says them now. */
export function cssColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "currentColor";
}

/** A number that grows whenever the page turns light or dark: what is painted once has to be painted again. */
export function useTheme(): number {
  const [times, setTimes] = useLiveState(0);
  useEffect(() => {
    const turned = (): void => setTimes((n) => n + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", turned);
    const watch = new MutationObserver(turned);
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      dark.removeEventListener("change", turned);
      watch.disconnect();
    };
  }, []);
  return times;
}
