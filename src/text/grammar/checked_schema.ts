import { ConfigError } from "../../core/errors.ts";

const types = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

/** Members of a schema that hold schemas: one, a list, or one by name. */
const single = ["items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains"];
const lists = ["anyOf", "oneOf", "allOf", "prefixItems"];
const named = ["properties", "patternProperties", "$defs", "definitions"];

/**
 * Finds what the grammar library cannot say without ending its WebAssembly: unknown types and references to nowhere.
 * @throws ConfigError "config"
 */
export function checkSchema(schema: unknown): void {
  check(schema, schema, "schema");
}

function check(schema: unknown, whole: unknown, path: string): void {
  if (typeof schema === "boolean") return;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw fault(path, "is no JSON Schema", "Send an object or a boolean there.");
  }
  const { type, $ref, ...rest } = schema as Record<string, unknown>;
  for (const name of Array.isArray(type) ? type : type === undefined ? [] : [type]) {
    if (!types.has(String(name))) {
      throw fault(`${path}.type`, `is ${JSON.stringify(name)}`, `Use one of ${[...types].join(", ")}.`);
    }
  }
  if ($ref !== undefined && !resolves($ref, whole)) {
    throw fault(
      `${path}.$ref`,
      `points to nothing: ${JSON.stringify($ref)}`,
      "Define it under $defs, as #/$defs/NAME.",
    );
  }
  for (const key of single) if (key in rest) check(rest[key], whole, `${path}.${key}`);
  for (const key of lists) {
    if (!(key in rest)) continue;
    const items = rest[key];
    if (!Array.isArray(items)) throw fault(`${path}.${key}`, "is no list", "Send a list of schemas.");
    for (const [i, item] of items.entries()) check(item, whole, `${path}.${key}[${i}]`);
  }
  for (const key of named) {
    if (!(key in rest)) continue;
    const members = rest[key];
    if (typeof members !== "object" || members === null) {
      throw fault(`${path}.${key}`, "is no object", "Send schemas by name.");
    }
    for (const [name, item] of Object.entries(members)) check(item, whole, `${path}.${key}.${name}`);
  }
}

function resolves(reference: unknown, whole: unknown): boolean {
  if (typeof reference !== "string" || !reference.startsWith("#")) return false;
  let at: unknown = whole;
  for (const part of reference.slice(1).split("/").filter(Boolean)) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !(name in at)) return false;
    at = (at as Record<string, unknown>)[name];
  }
  return true;
}

function fault(path: string, what: string, advice: string): ConfigError {
  return new ConfigError(`The JSON schema of the reply cannot be followed: ${path} ${what}.`, { do: advice });
}
