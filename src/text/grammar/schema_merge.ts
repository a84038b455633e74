/** Parts of a schema that all must hold, in one. */
import { ConfigError } from "../../core/errors.ts";
import { targetOf } from "./checked_schema.ts";
import { schemaFault } from "./schema_fault.ts";
import { checkBounds } from "./schema_limits.ts";
import { annotations, isObject, type Schema, sameValue } from "./schema_object.ts";
import { fittingValues } from "./schema_values.ts";

/** Where a schema stands, and what may be put in place of references there. */
export interface MergePlace {
  readonly path: string;
  /** Paths of what is not followed. */
  readonly unfollowed: string[];
  readonly whole: unknown;
  /** References whose targets stand around this place already. */
  readonly inlined: ReadonlySet<string>;
  /** How many references may still be replaced by their targets. */
  readonly budget: { left: number };
}

/** References that are replaced by their targets in one schema at most: targets may multiply each other. */
export const mostInlined = 500;

/** The schema with the parts of `allOf`, and what a reference beside other members stands for, in it; as it is, and noted, where they cannot be told in one. */
export function withoutAllOf(schema: Schema, place: MergePlace): { merged: Schema; inlined: MergePlace["inlined"] } {
  const { path, inlined } = place;
  const said = Object.keys(schema).filter((key) => !annotations.has(key));
  // One reference alone, or in one part alone, the library follows as such.
  const [only] =
    said.length === 1 && Array.isArray(schema.allOf) && schema.allOf.length === 1 ? schema.allOf : [schema];
  const isReference = isObject(only) && "$ref" in only && (only !== schema || said.length === 1);
  if (isReference || !said.some((key) => key === "allOf" || key === "$ref")) return { merged: schema, inlined };
  const seen = new Set(inlined);
  const whole = merged(schema, place, seen);
  if (whole !== null) return { merged: whole, inlined: seen };
  place.unfollowed.push(`${path}.${said.includes("allOf") ? "allOf" : "$ref"}`);
  return { merged: schema, inlined };
}

/** A schema and all that its `allOf` and, within one, its references ask for; `seen` takes the references. */
function merged(schema: Schema, place: MergePlace, seen: Set<string>): Schema | null {
  const { allOf = [], $ref, ...rest } = schema;
  const parts: unknown[] = [...(allOf as unknown[])];
  if (typeof $ref === "string") {
    if (seen.has($ref) || place.budget.left-- <= 0) return null;
    seen.add($ref);
    parts.unshift(targetOf($ref, place.whole));
  }
  let out: Schema | null = rest;
  for (const part of parts) {
    if (out === null) return null;
    if (part === true) continue;
    if (part === false) throw schemaFault(`${place.path}.allOf`, "has a part that is false", "Nothing fits it.");
    const next = isObject(part) ? merged(part, place, seen) : null;
    out = next && both(out, next, place.path);
  }
  return out;
}

/** Takes from the alternatives those that what stands beside them excludes. @throws ConfigError when none is left */
export function withoutDeadChoices(schema: Schema, place: MergePlace): Schema {
  let out = schema;
  for (const key of ["anyOf", "oneOf"]) {
    const { [key]: choices, ...rest } = out;
    if (!Array.isArray(choices)) continue;
    const open = choices.filter((choice) => choice !== false && !excludes(rest, choice, place));
    if (open.length === 0) {
      const advice = "Make the choices agree with the rest of the schema.";
      throw schemaFault(`${place.path}.${key}`, "has no choice that anything fits", advice);
    }
    if (open.length < choices.length) out = { ...out, [key]: open };
  }
  return out;
}

/** True when nothing fits both what stands beside a choice and the choice. */
function excludes(rest: Schema, choice: unknown, place: MergePlace): boolean {
  if (!isObject(choice)) return false;
  try {
    const whole = merged({ ...rest, allOf: [choice] }, { ...place, budget: { left: 8 } }, new Set(place.inlined));
    if (whole !== null) fittingValues(whole, place.path);
    return false;
  } catch (thrown) {
    if (thrown instanceof ConfigError) return true;
    throw thrown;
  }
}

type Merge = (a: unknown, b: unknown, path: string) => unknown;

const larger: Merge = (a, b) => (typeof a === "number" && typeof b === "number" ? Math.max(a, b) : undefined);
const smaller: Merge = (a, b) => (typeof a === "number" && typeof b === "number" ? Math.min(a, b) : undefined);
const bothSchemas: Merge = (a, b) => (a === false || b === false ? false : { allOf: [a, b] });
const namedSchemas: Merge = (a, b, path) => {
  if (!isObject(a) || !isObject(b)) return undefined;
  const shared = Object.keys(b).filter((name) => Object.hasOwn(a, name));
  return { ...a, ...b, ...Object.fromEntries(shared.map((name) => [name, bothSchemas(a[name], b[name], path)])) };
};

/** How members of two schemas are one; undefined: that cannot be said. */
const merges: Readonly<Record<string, Merge>> = {
  type: commonType,
  enum: (a, b, path) => {
    if (!Array.isArray(a) || !Array.isArray(b)) return undefined;
    const common = a.filter((value) => b.some((other) => sameValue(value, other)));
    if (common.length > 0) return common;
    throw schemaFault(`${path}.allOf`, "has lists of values with none in common", "Nothing is in both.");
  },
  const: (a, b, path) => {
    if (sameValue(a, b)) return a;
    const said = `asks for ${JSON.stringify(a)} and ${JSON.stringify(b)} at once`;
    throw schemaFault(`${path}.allOf`, said, "Nothing is both.");
  },
  required: (a, b) => (Array.isArray(a) && Array.isArray(b) ? [...new Set([...a, ...b])] : undefined),
  properties: namedSchemas,
  patternProperties: namedSchemas,
  items: bothSchemas,
  uniqueItems: (a, b) => a === true || b === true,
  ...Object.fromEntries(
    ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"].map((key) => [key, larger]),
  ),
  ...Object.fromEntries(
    ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"].map((key) => [key, smaller]),
  ),
};

/** What both schemas ask for, in one; null where that cannot be said. @throws ConfigError when nothing fits both */
function both(a: Schema, b: Schema, path: string): Schema | null {
  const out: Record<string, unknown> = { ...a };
  for (const [key, value] of Object.entries(b)) {
    const known = out[key];
    if (known === undefined || annotations.has(key)) {
      out[key] = known ?? value;
      continue;
    }
    if (sameValue(known, value)) continue;
    const one = merges[key]?.(known, value, path);
    if (one === undefined) return null;
    out[key] = one;
  }
  checkBounds(out, `${path}.allOf`);
  // A part that forbids other properties forbids those of the others.
  const closes = (schema: Schema) => schema.additionalProperties !== undefined && schema.additionalProperties !== true;
  return (closes(a) && isObject(b.properties)) || (closes(b) && isObject(a.properties)) ? null : out;
}

function commonType(a: unknown, b: unknown, path: string): unknown {
  const [first, second] = [a, b].map((type) => (Array.isArray(type) ? type : [type]) as unknown[]) as [
    unknown[],
    unknown[],
  ];
  const common = first.filter((type) => second.includes(type) || (type === "integer" && second.includes("number")));
  if (first.includes("number") && second.includes("integer") && !common.includes("integer")) common.push("integer");
  if (common.length > 0) return common.length === 1 ? common[0] : common;
  throw schemaFault(
    `${path}.allOf`,
    `asks for ${first.join(" or ")} and ${second.join(" or ")} at once`,
    "Nothing is both.",
  );
}
