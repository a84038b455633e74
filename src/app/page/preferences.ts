import type { Language } from "./texts.ts";

/** Colours: those of the system, or always the same. */
export type Theme = "system" | "light" | "dark";

const languageKey = "leyden.language";
const themeKey = "leyden.theme";
const serverKey = "leyden.key";

/** Storage that a browser may refuse, as from a disk or in a private window: what it keeps is a convenience. */
export function stored(storage: "localStorage" | "sessionStorage", key: string): string | null {
  try {
    return globalThis[storage].getItem(key);
  } catch {
    return null;
  }
}

/** Puts a text there, where the browser lets it. */
export function store(storage: "localStorage" | "sessionStorage", key: string, value: string): void {
  try {
    globalThis[storage].setItem(key, value);
  } catch {
    // The choice holds until the page is closed.
  }
}

/** The language chosen before, else the browser's. */
export function preferredLanguage(): Language {
  const chosen = stored("localStorage", languageKey);
  if (chosen === "en" || chosen === "ko") return chosen;
  return navigator.languages.some((tag) => /^ko\b/i.test(tag)) && !/^en\b/i.test(navigator.language) ? "ko" : "en";
}

/** Keeps a language, and marks the document with it. */
export function applyLanguage(language: Language, title: string): void {
  store("localStorage", languageKey, language);
  document.documentElement.lang = language;
  document.title = title;
}

/** The colours chosen before. */
export function preferredTheme(): Theme {
  const chosen = stored("localStorage", themeKey);
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

/** Keeps a choice of colours, and marks the document with it. */
export function applyTheme(theme: Theme): void {
  store("localStorage", themeKey, theme);
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/**
 * What the address brings once: the key of the server's run, or the token of a relay, which leave it at once, and the
 * studio's place to begin at, which takes their place.
 */
export interface AddressSecrets {
  readonly key: string | null;
  readonly relay: string | null;
}

/** Takes the secrets out of the address; a key is kept for this tab until it is closed. */
export function takeSecrets(): AddressSecrets {
  const fragment = new URLSearchParams(location.hash.replace(/^#/, ""));
  const key = fragment.get("key");
  const relay = fragment.get("relay");
  if (key !== null || relay !== null) {
    const place = fragment.get("at");
    history.replaceState(null, "", location.pathname + location.search + (place === null ? "" : `#${place}`));
  }
  if (key !== null) store("sessionStorage", serverKey, key);
  return { key: key ?? stored("sessionStorage", serverKey), relay };
}

/** Keeps a key that was typed. */
export function keepKey(key: string): void {
  store("sessionStorage", serverKey, key);
}
