/** Bounds of numbers in a JSON Schema. */
import { schemaFault } from "./schema_fault.ts";

type Schema = Readonly<Record<string, unknown>>;

const bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] as const;

/** Numbers between two, the ends themselves left out where they are open. */
export interface NumberRange {
  readonly low: number;
  readonly high: number;
  readonly isLowOpen: boolean;
  readonly isHighOpen: boolean;
}

/** The numbers that a schema's bounds leave. */
export function rangeOf(schema: Schema): NumberRange {
  const bound = (name: string, otherwise: number): number => {
    const value = schema[name];
    return typeof value === "number" ? value : otherwise;
  };
  const [low, openLow] = [bound("minimum", -Infinity), bound("exclusiveMinimum", -Infinity)];
  const [high, openHigh] = [bound("maximum", Infinity), bound("exclusiveMaximum", Infinity)];
  return {
    low: Math.max(low, openLow),
    high: Math.min(high, openHigh),
    isLowOpen: openLow >= low && openLow > -Infinity,
    isHighOpen: openHigh <= high && openHigh < Infinity,
  };
}

/** True for a number within a range. */
export function isWithin(value: number, { low, high, isLowOpen, isHighOpen }: NumberRange): boolean {
  return (isLowOpen ? value > low : value >= low) && (isHighOpen ? value < high : value <= high);
}

function isInteger({ type }: Schema): boolean {
  return type === "integer" || (Array.isArray(type) && type.includes("integer") && !type.includes("number"));
}

/** The whole numbers within a range: the first and the last. */
function wholeEnds({ low, high, isLowOpen, isHighOpen }: NumberRange): [first: number, last: number] {
  return [isLowOpen ? Math.floor(low) + 1 : Math.ceil(low), isHighOpen ? Math.ceil(high) - 1 : Math.floor(high)];
}

/** Finds bounds that are no numbers, and those that no number fits. @throws ConfigError "config" */
export function checkRange(schema: Schema, path: string): void {
  for (const name of bounds) {
    const bound = schema[name];
    if (bound === undefined) continue;
    if (typeof bound !== "number") {
      throw schemaFault(`${path}.${name}`, `is ${JSON.stringify(bound)}, no number`, "Write a number there.");
    }
    if (isInteger(schema) && Math.abs(bound) >= 2 ** 63) {
      throw schemaFault(`${path}.${name}`, `is ${bound}, beyond 64 bits`, "Leave it out.");
    }
  }
  const range = rangeOf(schema);
  const { low, high, isLowOpen, isHighOpen } = range;
  const [first, last] = isInteger(schema) ? wholeEnds(range) : [low, high];
  if (first < last || (first === last && (isInteger(schema) || !(isLowOpen || isHighOpen)))) return;
  const [from, to] = [isLowOpen ? "exclusiveMinimum" : "minimum", isHighOpen ? "exclusiveMaximum" : "maximum"];
  const relation = low > high ? "above" : "and";
  const rest = low > high ? "" : `, and no ${isInteger(schema) ? "whole number" : "number"} between`;
  throw schemaFault(path, `has ${from} ${low} ${relation} ${to} ${high}${rest}`, "Make them agree.");
}

/** A schema of whole numbers with its bounds as whole numbers, which is how the grammar library wants them. */
export function withWholeBounds(schema: Schema): Schema {
  if (!isInteger(schema) || !bounds.some((name) => name in schema)) return schema;
  const { minimum: _, maximum: __, exclusiveMinimum: ___, exclusiveMaximum: ____, ...rest } = schema;
  const [first, last] = wholeEnds(rangeOf(schema));
  return {
    ...rest,
    ...(first > -Infinity ? { minimum: first } : {}),
    ...(last < Infinity ? { maximum: last } : {}),
  };
}
