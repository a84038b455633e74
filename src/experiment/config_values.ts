/** A configuration's values by dotted path: "train.updates", or "seed". */

/** The value at a path of any depth; undefined where there is none. */
export function valueAt(config: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], config);
}

/** True where two values are the same as JSON. */
export function isSameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The values of a configuration, one per key of its sections, that are others in `base`, or are not there. */
export function otherValues(config: object, base: object): Record<string, unknown> {
  const paths = Object.entries(config).flatMap(([section, values]) =>
    typeof values === "object" && values !== null ? Object.keys(values).map((key) => `${section}.${key}`) : [section],
  );
  const other = paths.filter((path) => !isSameValue(valueAt(config, path), valueAt(base, path)));
  return Object.fromEntries(other.map((path) => [path, valueAt(config, path)]));
}
