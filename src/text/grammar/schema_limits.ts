import { checkRange } from "./number_range.ts";
import { schemaFault } from "./schema_fault.ts";
import { checkPattern } from "./schema_pattern.ts";

/** Levels of schemas within schemas: about half of what fits the stack of the library's WebAssembly. */
const maxDepth = 50;
/** Named properties of a whole schema: the library's time grows with their square, and nothing is decoded meanwhile. */
const maxProperties = 1000;
/** Values of all enums of a schema. */
const maxEnumValues = 10_000;
/** UTF-16 units of all names, patterns, and enum and const values of a schema. */
const maxTextLength = 250_000;

const lengths = [
  ["minLength", "maxLength"],
  ["minItems", "maxItems"],
  ["minProperties", "maxProperties"],
] as const;

/** Counts what a schema holds and stops where compiling it would hold up every other reply. */
export class SchemaLimits {
  private properties = 0;
  private enumValues = 0;
  private textLength = 0;

  /** Counts one schema, `depth` levels below the whole. @throws ConfigError "config" */
  count(schema: Readonly<Record<string, unknown>>, path: string, depth: number): void {
    if (depth > maxDepth) {
      throw schemaFault(
        "schema",
        `is nested deeper than ${maxDepth} levels`,
        "Make it flatter, or use $ref into $defs.",
      );
    }
    const { properties, enum: values, const: value, pattern } = schema;
    const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
    this.properties += names.length;
    this.enumValues += Array.isArray(values) ? values.length : 0;
    const texts = [...names, values, value, pattern].filter((part) => part !== undefined);
    this.textLength += texts.reduce<number>((sum, part) => sum + (JSON.stringify(part)?.length ?? 0), 0);
    this.refuseAbove("properties", this.properties, maxProperties, path);
    this.refuseAbove("enum values", this.enumValues, maxEnumValues, path);
    this.refuseAbove("characters of names and values", this.textLength, maxTextLength, path);
  }

  private refuseAbove(what: string, count: number, most: number, path: string): void {
    if (count <= most) return;
    throw schemaFault(path, `brings the schema to ${count} ${what}, more than ${most}`, "Ask for less in one reply.");
  }
}

/**
 * Finds bounds that contradict each other and lists that leave no choice: the library ends its WebAssembly at them, and
 * with it the replies of others.
 * @throws ConfigError "config"
 */
export function checkBounds(schema: Readonly<Record<string, unknown>>, path: string): void {
  for (const [least, most] of lengths) {
    for (const key of [least, most]) checkLength(schema[key], `${path}.${key}`);
    checkOrder(schema, least, most, path);
  }
  checkRange(schema, path);
  checkNames(schema, path);
  checkPlaces(schema, path);
  for (const key of ["enum", "anyOf", "oneOf", "type"]) {
    const choices = schema[key];
    if (key === "enum" && choices !== undefined && !Array.isArray(choices)) {
      throw schemaFault(`${path}.enum`, "is no list", "List the values.");
    }
    if (Array.isArray(choices) && choices.length === 0) {
      throw schemaFault(`${path}.${key}`, "is empty, so nothing fits it", "List at least one choice.");
    }
  }
  checkPattern(schema.pattern, `${path}.pattern`);
  for (const pattern of Object.keys(schema.patternProperties ?? {})) checkPattern(pattern, `${path}.patternProperties`);
}

function checkLength(value: unknown, path: string): void {
  if (value === undefined || (Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31)) return;
  throw schemaFault(path, `is ${JSON.stringify(value)}`, `Use a whole number from 0 to ${2 ** 31 - 1}.`);
}

/** Names that are required, and how many there may be. */
function checkNames(
  { required, maxProperties, format, propertyNames }: Readonly<Record<string, unknown>>,
  path: string,
): void {
  if (format !== undefined && typeof format !== "string") {
    throw schemaFault(`${path}.format`, "is no text", "Name a format, or leave it out.");
  }
  checkPattern((propertyNames as { pattern?: unknown } | null | undefined)?.pattern, `${path}.propertyNames.pattern`);
  if (required === undefined) return;
  if (!Array.isArray(required) || required.some((name) => typeof name !== "string")) {
    throw schemaFault(`${path}.required`, "is no list of names", "List the names of properties.");
  }
  const names = new Set(required).size;
  if (typeof maxProperties !== "number" || names <= maxProperties) return;
  throw schemaFault(path, `requires ${names} properties and allows ${maxProperties}`, "Make them agree.");
}

/** Items and properties that are described, and how many there must or may be. */
function checkPlaces(schema: Readonly<Record<string, unknown>>, path: string): void {
  const { prefixItems, items, minItems = 0, maxItems = Infinity, minProperties = 0 } = schema;
  const places = Array.isArray(prefixItems) ? prefixItems.length : 0;
  if (items === false && Number(minItems) > places) {
    throw schemaFault(path, `asks for ${minItems} items and has a place for ${places}`, "Make them agree.");
  }
  if (Number(maxItems) < places) {
    throw schemaFault(path, `allows ${maxItems} items and describes ${places}`, "Make them agree.");
  }
  const { properties, patternProperties, additionalProperties, propertyNames } = schema;
  const names = Object.keys(properties ?? {}).length;
  if (additionalProperties === false && patternProperties === undefined && Number(minProperties) > names) {
    throw schemaFault(path, `asks for ${minProperties} properties and describes ${names}`, "Make them agree.");
  }
  if (propertyNames === false)
    throw schemaFault(`${path}.propertyNames`, "is false", "Forbid properties by maxProperties 0.");
}

function checkOrder(schema: Readonly<Record<string, unknown>>, least: string, most: string, path: string): void {
  const [low, high] = [schema[least], schema[most]];
  if (typeof low !== "number" || typeof high !== "number" || low <= high) return;
  throw schemaFault(path, `has ${least} ${low} above ${most} ${high}`, "Make them agree.");
}
