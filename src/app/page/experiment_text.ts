import type { ExperimentChoice } from "../../schema/run_control.ts";
import { isTextKey, type Say } from "./texts.ts";

/** What an experiment is called or about, in the page's language; in its own words where the page has none. */
export function experimentText(say: Say, choice: ExperimentChoice, part: "title" | "summary"): string {
  const key = `experiment.${choice.id}.${part}`;
  return isTextKey(key) ? say(key) : choice[part];
}
