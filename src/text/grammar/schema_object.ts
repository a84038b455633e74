/** JSON Schemas as objects. */

/** A JSON Schema that is an object. */
export type Schema = Readonly<Record<string, unknown>>;

/** Members that say nothing of a value. */
export const annotations: ReadonlySet<string> = new Set([
  "title",
  "description",
  "default",
  "examples",
  "$schema",
  "$id",
  "$comment",
  "$defs",
  "definitions",
]);

/** True for a JSON object. */
export function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, item]) => [name, canonical(item)]);
}

/** True for equal JSON values, in whatever order their members stand. */
export function sameValue(a: unknown, b: unknown): boolean {
  return isObject(a) === isObject(b) && JSON.stringify(canonical(a)) === JSON.stringify(canonical(b));
}
