import type { ExperimentChoice } from "../../schema/run_control.ts";
import { isTextKey, type Say } from "./texts.ts";

/** What an experiment is called in the page's language; its id where the page has no text for it. */
export function experimentTitle(say: Say, id: string): string {
  const key = `experiment.${id}.title`;
  return isTextKey(key) ? say(key) : id;
}

/** What an experiment is called or about, in the page's language; in its own words where the page has none. */
export function experimentText(say: Say, choice: ExperimentChoice, part: "title" | "summary"): string {
  const key = `experiment.${choice.id}.${part}`;
  return isTextKey(key) ? say(key) : choice[part];
}
