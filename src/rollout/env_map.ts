import { ConfigError } from "../core/errors.ts";

function step(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return /^[0-9]+$/.test(key) ? value[Number(key)] : undefined;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}

/**
 * The part of a task's input that "input" or "input.a.0.b" names: objects by key, lists by decimal index; undefined
 * when there is none.
 */
export function inputAt(input: unknown, path: string): unknown {
  const [, ...keys] = path.split(".");
  let value = input;
  for (const key of keys) {
    if (value === undefined) return undefined;
    value = step(value, key);
  }
  return value;
}

/** Strings as they are, everything else as JSON. @throws ConfigError "config" naming `what` when it cannot be JSON */
export function inputText(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new ConfigError(`${what}: the value cannot be written as JSON.`, { do: "Make the input plain JSON.", cause });
  }
  if (text === undefined) {
    throw new ConfigError(`${what}: the value cannot be written as JSON.`, { do: "Make the input plain JSON." });
  }
  return text;
}

/**
 * Variables of an agent from its task: "input" is the whole input, "input.PATH" a part of it, anything else itself.
 * Source: Agent Lightning v1, local runner.
 * @throws ConfigError "config" when a path leads nowhere
 */
export function resolveEnvMap(input: unknown, envMap: Readonly<Record<string, string>>): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, source] of Object.entries(envMap)) {
    if (source !== "input" && !source.startsWith("input.")) {
      env[name] = source;
      continue;
    }
    const value = inputAt(input, source);
    if (value === undefined) {
      throw new ConfigError(`local.env_map path not found: ${source}`, {
        do: `Give the task's input this field, or change env_map of ${name}.`,
      });
    }
    env[name] = inputText(value, `local.env_map variable ${name}`);
  }
  return env;
}
