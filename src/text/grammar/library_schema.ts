import { schemaFault } from "./schema_limits.ts";

type Schema = Readonly<Record<string, unknown>>;

/** How arguments are written: as JSON, or as Qwen3-Coder's parameters, whose values are JSON. */
export type SchemaForm = "json" | "xml";

/** A schema as the grammar library follows it. */
export interface LibrarySchema {
  schema: unknown;
  /** Paths of what it does not follow: a reply may break it. */
  unfollowed: string[];
}

/** Keywords that the library reads over. */
const unread = [
  "not",
  "if",
  "then",
  "else",
  "contains",
  "minContains",
  "maxContains",
  "multipleOf",
  "dependentSchemas",
];

/** Members that hold schemas, as `checkSchema` walks them. */
const single = ["items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains"];
const lists = ["anyOf", "oneOf", "allOf", "prefixItems"];
const named = ["patternProperties", "$defs", "definitions"];

/** A text as it stands within a literal of EBNF, where the library puts names as they are. */
function inLiteral(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** A name as it stands within a JSON string, within a literal. */
function inJson(name: string): string {
  return inLiteral(inLiteral(name));
}

/**
 * A checked schema with what the library needs to have said otherwise: names of properties as they are written, parts of
 * `allOf` in one, required properties listed, enums without values of other types.
 * @throws ConfigError "config" for what contradicts itself, and for references that the library cannot follow
 */
export function librarySchema(schema: unknown, form: SchemaForm): LibrarySchema {
  const unfollowed: string[] = [];
  return {
    schema: rewrite(schema, { path: "schema", nameOf: form === "xml" ? inLiteral : inJson, unfollowed }),
    unfollowed,
  };
}

interface Place {
  readonly path: string;
  nameOf(name: string): string;
  readonly unfollowed: string[];
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function rewrite(given: unknown, place: Place): unknown {
  if (!isObject(given)) return given;
  const { path, unfollowed } = place;
  const schema = withoutMismatches(withoutAllOf(given, place), path);
  checkPointer(schema.$ref, path);
  for (const key of unread) if (key in schema) unfollowed.push(`${path}.${key}`);
  if (schema.uniqueItems === true) unfollowed.push(`${path}.uniqueItems`);
  if ("anyOf" in schema || "oneOf" in schema) unfollowed.push(...besideChoices(schema).map((key) => `${path}.${key}`));
  const out: Record<string, unknown> = { ...schema };
  const below = (value: unknown, at: string) => rewrite(value, { path: `${path}.${at}`, nameOf: inJson, unfollowed });
  for (const key of single) if (key in out) out[key] = below(out[key], key);
  for (const key of lists) {
    if (Array.isArray(out[key])) out[key] = (out[key] as unknown[]).map((item, at) => below(item, `${key}[${at}]`));
  }
  for (const key of named) {
    if (isObject(out[key]))
      out[key] = mapped(out[key] as Schema, (name, item) => [name, below(item, `${key}.${name}`)]);
  }
  return { ...out, ...properties(schema, place, below) };
}

/** Where there are alternatives, the library reads nothing else of a schema. */
function besideChoices({ anyOf: _, oneOf: __, ...rest }: Schema): string[] {
  return Object.keys(rest).filter((key) => !annotations.has(key) && !unread.includes(key));
}

function mapped(object: Schema, entry: (name: string, value: unknown) => [string, unknown]): Schema {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => entry(name, value)));
}

/** The schema's properties by their names as written, those that it requires without describing them included. */
function properties(schema: Schema, { path, nameOf }: Place, below: (value: unknown, at: string) => unknown): Schema {
  const { properties: given, required, dependentRequired, additionalProperties: others = true } = schema;
  const described: Schema = isObject(given) ? given : {};
  const wanted = Array.isArray(required) ? required.filter((name): name is string => typeof name === "string") : [];
  const missing = wanted.filter((name) => !Object.hasOwn(described, name) && !isObject(schema.patternProperties));
  if (missing.length > 0 && others === false) {
    throw schemaFault(
      path,
      `requires ${JSON.stringify(missing[0])}, which it does not allow`,
      "Describe it under properties.",
    );
  }
  const all = { ...described, ...Object.fromEntries(missing.map((name) => [name, others === true ? {} : others])) };
  const dependent = isObject(dependentRequired) ? dependentRequired : null;
  return {
    ...(Object.keys(all).length === 0
      ? {}
      : { properties: mapped(all, (name, item) => [nameOf(name), below(item, `properties.${name}`)]) }),
    ...(wanted.length === 0 ? {} : { required: wanted.map(nameOf) }),
    ...(dependent === null
      ? {}
      : {
          dependentRequired: mapped(dependent, (name, names) => [
            nameOf(name),
            Array.isArray(names) ? names.map((one) => nameOf(String(one))) : names,
          ]),
        }),
  };
}

/** The library looks parts of a reference up as they stand, among names that are not yet as written. */
function checkPointer(reference: unknown, path: string): void {
  if (typeof reference !== "string") return;
  const parts = reference.split("/").slice(1);
  if (parts.every((part) => !/[~%]/.test(part) && inLiteral(part) === part)) return;
  throw schemaFault(
    `${path}.$ref`,
    `goes through an unusual name: ${JSON.stringify(reference)}`,
    "Name it in letters.",
  );
}

const typeTests: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

/** Values that the schema lists and its type excludes are no choice; the library would offer them. */
function withoutMismatches(schema: Schema, path: string): Schema {
  const { type, enum: values } = schema;
  const types = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === "string");
  if (types.length === 0) return schema;
  const fits = (value: unknown) => types.some((name) => typeTests[name as string]?.(value));
  const advice = "Make type and values agree.";
  if ("const" in schema && !fits(schema.const)) {
    throw schemaFault(`${path}.const`, `is ${JSON.stringify(schema.const)}, which is no ${types.join(" or ")}`, advice);
  }
  if (!Array.isArray(values)) return schema;
  const fitting = values.filter(fits);
  if (fitting.length === 0) throw schemaFault(`${path}.enum`, `lists no ${types.join(" or ")}`, advice);
  return fitting.length === values.length ? schema : { ...schema, enum: fitting };
}

/** The schema with the parts of `allOf` in it; as it is, and noted, where they cannot be told in one. */
function withoutAllOf(schema: Schema, { path, unfollowed }: Place): Schema {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf)) return schema;
  let whole: Schema | null = rest;
  for (const part of allOf) whole = whole && isObject(part) ? both(whole, part, path) : null;
  if (whole) return whole;
  // One part alone the library follows.
  if (allOf.length > 1 || Object.keys(rest).some((key) => !annotations.has(key))) unfollowed.push(`${path}.allOf`);
  return schema;
}

/** Members that say nothing of a value. */
const annotations = new Set([
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

/** What both schemas ask for, in one; null where that cannot be said. @throws ConfigError when nothing fits both */
function both(a: Schema, b: Schema, path: string): Schema | null {
  const out: Record<string, unknown> = { ...a };
  for (const [key, value] of Object.entries(b)) {
    const known = out[key];
    if (known === undefined || annotations.has(key)) out[key] = known ?? value;
    else if (key === "type") out.type = commonType(known, value, path);
    else if (key === "required" && Array.isArray(known) && Array.isArray(value))
      out.required = [...new Set([...known, ...value])];
    else if (key === "properties" && isObject(known) && isObject(value)) {
      if (Object.keys(value).some((name) => Object.hasOwn(known, name))) return null;
      out.properties = { ...known, ...value };
    } else if (JSON.stringify(known) !== JSON.stringify(value)) return null;
  }
  // A part that forbids other properties forbids those of the others.
  const closes = (schema: Schema) => schema.additionalProperties !== undefined && schema.additionalProperties !== true;
  if ((closes(a) && isObject(b.properties)) || (closes(b) && isObject(a.properties))) return null;
  return b.allOf === undefined && b.$ref === undefined ? out : null;
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
