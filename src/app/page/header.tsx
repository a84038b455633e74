import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { Theme } from "./preferences.ts";
import type { Section } from "./routes.ts";
import { type Language, languageNames, type Say, type TextKey } from "./texts.ts";

/** What the header shows and changes. */
export interface HeaderProps {
  readonly say: Say;
  readonly section: Section;
  readonly sections: readonly Section[];
  readonly language: Language;
  readonly theme: Theme;
  onLanguage(language: Language): void;
  onTheme(theme: Theme): void;
}

const links: Readonly<Record<Section, { href: string; text: TextKey }>> = {
  run: { href: "#run", text: "nav.run" },
  studio: { href: "#/", text: "nav.studio" },
  lessons: { href: "#lesson", text: "nav.lessons" },
  model: { href: "#model", text: "nav.model" },
  room: { href: "#room", text: "nav.room" },
};

const themes: Readonly<Record<Theme, TextKey>> = {
  system: "theme.system",
  light: "theme.light",
  dark: "theme.dark",
};

function Mark(): JSX.Element {
  return (
    <svg width="22" height="26" viewBox="0 0 22 26" aria-hidden="true" focusable="false">
      <path d="M5 1h12M8 1v5M14 1v5" stroke="currentColor" stroke-width="2" fill="none" stroke-linecap="round" />
      <path
        d="M4 9a3 3 0 0 1 3-3h8a3 3 0 0 1 3 3v13a3 3 0 0 1-3 3H7a3 3 0 0 1-3-3z"
        fill="none"
        stroke="currentColor"
        stroke-width="2"
      />
      <path d="M7 15h8v6a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1z" fill="currentColor" />
    </svg>
  );
}

/** Where one is, where one can go, and how the page looks and speaks. */
export function Header(props: HeaderProps): JSX.Element {
  const { say, section, sections, language, theme } = props;
  return (
    <header class="pg-header">
      <a class="pg-brand" href="#run">
        <Mark />
        Leyden
      </a>
      <nav class="pg-nav" aria-label={say("nav.label")}>
        {sections.map((name) => (
          <a key={name} href={links[name].href} {...(name === section ? { "aria-current": "page" } : {})}>
            {say(links[name].text)}
          </a>
        ))}
      </nav>
      <div class="pg-tools">
        <select
          class="pg-select"
          aria-label={say("theme")}
          onChange={(event: Event) => props.onTheme((event.target as HTMLSelectElement).value as Theme)}
        >
          {Object.entries(themes).map(([value, text]) => (
            <option key={value} value={value} selected={value === theme}>
              {say(text)}
            </option>
          ))}
        </select>
        <select
          class="pg-select"
          aria-label={say("language")}
          onChange={(event: Event) => props.onLanguage((event.target as HTMLSelectElement).value as Language)}
        >
          {Object.entries(languageNames).map(([value, name]) => (
            <option key={value} value={value} lang={value} selected={value === language}>
              {name}
            </option>
          ))}
        </select>
      </div>
    </header>
  );
}
