import { fillText } from "../../core/fill_text.ts";
import experimentsEnglish from "../experiment_texts.en.json" with { type: "json" };
import experimentsKorean from "../experiment_texts.ko.json" with { type: "json" };
import pageEnglish from "./texts.en.json" with { type: "json" };
import pageKorean from "./texts.ko.json" with { type: "json" };

/** Languages of the page. */
export type Language = "en" | "ko";

/** Key of a text. */
export type TextKey = keyof typeof pageEnglish | keyof typeof experimentsEnglish;

/** Says a text in the page's language, with values in the places that are named in braces. */
export type Say = (key: TextKey, values?: Readonly<Record<string, string | number>>) => string;

const tables: Readonly<Record<Language, Readonly<Record<TextKey, string>>>> = {
  en: { ...pageEnglish, ...experimentsEnglish },
  ko: { ...pageKorean, ...experimentsKorean },
};

/** Languages by their own names. */
export const languageNames: Readonly<Record<Language, string>> = { en: "English", ko: "한국어" };

/** True for the key of a text. */
export function isTextKey(key: string): key is TextKey {
  return Object.hasOwn(tables.en, key);
}

/** The texts of a language. */
export function textsOf(language: Language): Say {
  const table = tables[language];
  return (key, values = {}) => fillText(table[key], values);
}
