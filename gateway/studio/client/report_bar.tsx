import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { contentId } from "./content_id.ts";
import { type Language, textsOf } from "./texts.ts";

/** Light, dark, or as the system is. */
export type Theme = "system" | "light" | "dark";

export interface ReportBarProps {
  readonly name: string;
  readonly language: Language;
  readonly theme: Theme;
  onLanguage(language: Language): void;
  onTheme(theme: Theme): void;
}

const languages: readonly (readonly [Language, string])[] = [
  ["en", "English"],
  ["ko", "한국어"],
];

/** What a report has around the studio, where no page is: its run's name, language and colours. */
export function ReportBar({ name, language, theme, onLanguage, onTheme }: ReportBarProps): JSX.Element {
  const say = textsOf(language);
  return (
    <header class="st-studio st-report-bar">
      <button type="button" class="st-skip" onClick={() => document.getElementById(contentId)?.focus()}>
        {say("nav.skip")}
      </button>
      <h1>
        Leyden <small>{name}</small>
      </h1>
      <label class="st-field">
        <span>{say("report.language")}</span>
        <select onChange={(event) => onLanguage((event.target as HTMLSelectElement).value as Language)}>
          {languages.map(([id, text]) => (
            <option key={id} value={id} selected={id === language}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label class="st-field">
        <span>{say("report.theme")}</span>
        <select onChange={(event) => onTheme((event.target as HTMLSelectElement).value as Theme)}>
          {(["system", "light", "dark"] as const).map((one) => (
            <option key={one} value={one} selected={one === theme}>
              {say(`report.${one}`)}
            </option>
          ))}
        </select>
      </label>
    </header>
  );
}
