/** A value as a console shows it: texts as they are, errors with their stack, objects as JSON. */
function shown(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ?? `${value.name}: ${value.message}`;
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? `${value}n` : String(value);
  try {
    const plain = value instanceof Map || value instanceof Set ? [...value] : value;
    return JSON.stringify(plain, (_, part) => (typeof part === "bigint" ? `${part}n` : part)) ?? String(value);
  } catch {
    // A circle, or a toJSON that throws.
    return Object.prototype.toString.call(value);
  }
}

function substituted(place: string, value: unknown): string {
  if (place === "%d" || place === "%i" || place === "%f") {
    const number = typeof value === "bigint" ? value : Number(value);
    return place === "%i" && typeof number === "number" ? String(Math.trunc(number)) : String(number);
  }
  return shown(value);
}

/** The text that console methods write for their arguments, placeholders (%s %d %i %f %j %o %O %c %%) filled in. */
export function consoleText(args: readonly unknown[]): string {
  const [first, ...rest] = args;
  if (typeof first !== "string") return args.map(shown).join(" ");
  const filled = first.replace(/%[sdifjoOc%]/g, (place) => {
    if (place === "%%") return "%";
    if (rest.length === 0) return place;
    const value = rest.shift();
    return place === "%c" ? "" : substituted(place, value);
  });
  return [filled, ...rest.map(shown)].join(" ");
}
