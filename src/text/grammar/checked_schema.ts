import { schemaFault } from "./schema_fault.ts";
import { checkBounds, SchemaLimits } from "./schema_limits.ts";

const types = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

/** Members of a schema that hold schemas: one, a list, or one by name. */
const single = ["items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains"];
const lists = ["anyOf", "oneOf", "allOf", "prefixItems"];
const named = ["properties", "patternProperties", "$defs", "definitions"];

/**
 * Finds what the grammar library cannot say without ending its WebAssembly, or takes too long for: unknown types,
 * references to nowhere or in a circle, bounds that contradict each other, and more than its time or stack allows.
 * `root`: what the schema itself is called in errors.
 * @throws ConfigError "config"
 */
export function checkSchema(schema: unknown, root = "schema"): void {
  check(schema, { whole: schema, limits: new SchemaLimits(), depth: 0 }, root);
}

/** Where a schema stands: `depth` levels below the whole one. */
interface Place {
  readonly whole: unknown;
  readonly limits: SchemaLimits;
  readonly depth: number;
}

function check(schema: unknown, place: Place, path: string): void {
  if (typeof schema === "boolean") return;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw schemaFault(path, "is no JSON Schema", "Send an object or a boolean there.");
  }
  const { type, $ref, ...rest } = schema as Record<string, unknown>;
  const { whole, limits, depth } = place;
  limits.count(rest, path, depth);
  checkBounds({ type, ...rest }, path);
  const below = { whole, limits, depth: depth + 1 };
  for (const name of Array.isArray(type) ? type : type === undefined ? [] : [type]) {
    if (!types.has(String(name))) {
      throw schemaFault(`${path}.type`, `is ${JSON.stringify(name)}`, `Use one of ${[...types].join(", ")}.`);
    }
  }
  if ($ref !== undefined) checkReference($ref, whole, `${path}.$ref`);
  for (const key of single) if (key in rest) check(rest[key], below, `${path}.${key}`);
  for (const key of lists) {
    if (!(key in rest)) continue;
    const items = rest[key];
    if (!Array.isArray(items)) throw schemaFault(`${path}.${key}`, "is no list", "Send a list of schemas.");
    for (const [i, item] of items.entries()) check(item, below, `${path}.${key}[${i}]`);
  }
  for (const key of named) {
    if (!(key in rest)) continue;
    const members = rest[key];
    if (typeof members !== "object" || members === null) {
      throw schemaFault(`${path}.${key}`, "is no object", "Send schemas by name.");
    }
    for (const [name, item] of Object.entries(members)) check(item, below, `${path}.${key}.${name}`);
  }
}

/** A reference ends at a schema that says something, not at another that leads back. */
function checkReference($ref: unknown, whole: unknown, path: string): void {
  const seen = new Set<unknown>();
  for (let reference = $ref; reference !== undefined; ) {
    if (seen.has(reference)) {
      throw schemaFault(path, `leads back to itself: ${JSON.stringify($ref)}`, "Say what it stands for under $defs.");
    }
    seen.add(reference);
    const target = targetOf(reference, whole);
    if (target === undefined) {
      throw schemaFault(
        path,
        `points to nothing: ${JSON.stringify(reference)}`,
        "Define it under $defs, as #/$defs/NAME.",
      );
    }
    reference = (target as { $ref?: unknown } | null)?.$ref;
  }
}

/** What a reference points to; undefined when that is nothing. */
export function targetOf(reference: unknown, whole: unknown): unknown {
  if (typeof reference !== "string" || !reference.startsWith("#")) return undefined;
  let at: unknown = whole;
  for (const part of reference.slice(1).split("/").filter(Boolean)) {
    const name = unescaped(part);
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

/** A part of a JSON pointer; one that is not well-formed stands for itself. */
function unescaped(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}
