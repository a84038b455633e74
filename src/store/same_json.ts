/**
 * True when a value has the JSON text of a parsed one: equal, keys in the same order. False negatives are possible for
 * values that no parsed JSON has, such as undefined members.
 */
export function sameJson(parsed: unknown, value: unknown): boolean {
  if (typeof parsed !== "object" || parsed === null) return Object.is(parsed, value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(parsed)) {
    return (
      Array.isArray(value) && parsed.length === value.length && parsed.every((item, at) => sameJson(item, value[at]))
    );
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  const keys = Object.keys(parsed);
  const others = Object.keys(value);
  return (
    keys.length === others.length &&
    keys.every((key, at) => key === others[at] && sameJson((parsed as never)[key], (value as never)[key]))
  );
}
