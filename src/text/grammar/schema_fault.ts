import { ConfigError } from "../../core/errors.ts";

/** The refusal of a schema: `path` leads to the part of it that `what` is wrong with. */
export function schemaFault(path: string, what: string, advice: string): ConfigError {
  return new ConfigError(`The JSON schema of the reply cannot be followed: ${path} ${what}.`, { do: advice });
}
