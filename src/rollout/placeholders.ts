import { ConfigError } from "../core/errors.ts";
import { inputAt, inputText } from "./env_map.ts";

/** What a command line may name, besides the task's input. */
export interface PlaceholderValues {
  input: unknown;
  input_file: string;
  workspace: string;
  rollout_id: string;
  attempt_id: string;
  base_url: string;
  event_url: string;
  key: string;
}

const pattern = /\{(input(?:\.[^{}\s"]+)?|input_file|workspace|rollout_id|attempt_id|base_url|event_url|key)\}/g;

/** True when the text names the placeholder. */
export function mentions(text: string, name: keyof PlaceholderValues): boolean {
  return text.includes(`{${name}}`);
}

/**
 * The text with placeholders replaced; braces of any other kind stay.
 * @throws ConfigError "config" when {input.PATH} leads nowhere
 */
export function fillPlaceholders(text: string, values: PlaceholderValues): string {
  return text.replace(pattern, (whole, name: string) => {
    if (name !== "input" && !name.startsWith("input."))
      return values[name as Exclude<keyof PlaceholderValues, "input">];
    const value = inputAt(values.input, name);
    if (value === undefined) {
      throw new ConfigError(`Placeholder ${whole}: the task's input has no such field.`, {
        do: "Change the agent's command, or give the task's input this field.",
      });
    }
    return inputText(value, `Placeholder ${whole}`);
  });
}
