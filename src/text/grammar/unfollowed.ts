import type { ConstraintSpec } from "../../schema/token_constraint.ts";
import { librarySchema } from "./library_schema.ts";

/** What of a constraint its grammar does not see to, as paths into its JSON schemas; a reply may break that. */
export function unfollowedParts(spec: ConstraintSpec): string[] {
  switch (spec.kind) {
    case "json_schema":
      return librarySchema(spec.schema, "json").unfollowed;
    case "after_thinking":
      return unfollowedParts(spec.answer);
    case "tool_calls": {
      const tools = spec.tools.flatMap(({ name, parameters }) =>
        librarySchema(parameters ?? {}, "json").unfollowed.map((path) => `${name}: ${path}`),
      );
      return [...tools, ...(spec.text ? unfollowedParts(spec.text) : [])];
    }
    default:
      return [];
  }
}
