import type { JsonObject } from "./dialect.ts";

/** The JSON object that a text spells, {} for a blank one; null where it spells none. */
export function objectIn(text: string): JsonObject | null {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}
