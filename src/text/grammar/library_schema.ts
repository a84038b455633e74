import { withWholeBounds } from "./number_range.ts";
import { schemaFault } from "./schema_fault.ts";
import { type MergePlace, mostInlined, withoutAllOf, withoutDeadChoices } from "./schema_merge.ts";
import { annotations, isObject, type Schema } from "./schema_object.ts";
import { fittingValues } from "./schema_values.ts";

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
export function librarySchema(schema: unknown, form: SchemaForm, root = "schema"): LibrarySchema {
  const unfollowed: string[] = [];
  return {
    schema: rewrite(schema, {
      ...{ path: root, nameOf: form === "xml" ? inLiteral : inJson, unfollowed },
      ...{ whole: schema, inlined: new Set<string>(), budget: { left: mostInlined } },
    }),
    unfollowed,
  };
}

interface Place extends MergePlace {
  nameOf(name: string): string;
}

function rewrite(given: unknown, place: Place): unknown {
  if (!isObject(given)) return given;
  const { path, unfollowed } = place;
  const { merged, inlined } = withoutAllOf(given, place);
  const schema = withWholeBounds(fittingValues(withoutDeadChoices(merged, place), path));
  checkPointer(schema.$ref, path);
  for (const key of unread) if (key in schema) unfollowed.push(`${path}.${key}`);
  if (schema.uniqueItems === true) unfollowed.push(`${path}.uniqueItems`);
  if ("anyOf" in schema || "oneOf" in schema) unfollowed.push(...besideChoices(schema).map((key) => `${path}.${key}`));
  const out: Record<string, unknown> = { ...schema };
  const below = (value: unknown, at: string) =>
    rewrite(value, { ...place, path: `${path}.${at}`, nameOf: inJson, inlined });
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
function properties(
  schema: Schema,
  { path, nameOf, unfollowed }: Place,
  below: (value: unknown, at: string) => unknown,
): Schema {
  const { properties: given, required, dependentRequired, additionalProperties: others = true } = schema;
  const named = isObject(given) ? Object.entries(given) : [];
  const wanted = Array.isArray(required) ? required.filter((name): name is string => typeof name === "string") : [];
  const never = named.filter(([, item]) => item === false).map(([name]) => name);
  for (const name of never) {
    if (wanted.includes(name)) {
      throw schemaFault(`${path}.properties.${name}`, "is false and required, so nothing fits it", "Make them agree.");
    }
    // Without its own description it is one of the others.
    if (others !== false) unfollowed.push(`${path}.properties.${name}`);
  }
  const described: Schema = Object.fromEntries(named.filter(([, item]) => item !== false));
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
