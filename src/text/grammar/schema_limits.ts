import { ConfigError } from "../../core/errors.ts";

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

/** The refusal of a schema: `path` leads to the part of it that `what` is wrong with. */
export function schemaFault(path: string, what: string, advice: string): ConfigError {
  return new ConfigError(`The JSON schema of the reply cannot be followed: ${path} ${what}.`, { do: advice });
}

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
  checkOrder(schema, "minimum", "maximum", path);
  if (schema.type === "integer") {
    for (const key of ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]) {
      const bound = schema[key];
      if (typeof bound !== "number" || Math.abs(bound) < 2 ** 63) continue;
      throw schemaFault(`${path}.${key}`, `is ${bound}, beyond 64 bits`, "Leave it out.");
    }
  }
  for (const key of ["enum", "anyOf", "oneOf"]) {
    const choices = schema[key];
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

function checkOrder(schema: Readonly<Record<string, unknown>>, least: string, most: string, path: string): void {
  const [low, high] = [schema[least], schema[most]];
  if (typeof low !== "number" || typeof high !== "number" || low <= high) return;
  throw schemaFault(path, `has ${least} ${low} above ${most} ${high}`, "Make them agree.");
}

function checkPattern(pattern: unknown, path: string): void {
  if (pattern === undefined) return;
  if (typeof pattern !== "string") throw schemaFault(path, "is no text", "Write a regular expression there.");
  const said = JSON.stringify(pattern).slice(0, 100);
  const advice = "Use classes, groups, alternatives and counts only.";
  try {
    new RegExp(pattern);
  } catch {
    throw schemaFault(path, `is no regular expression: ${said}`, advice);
  }
  // An escaped backslash is no escape of what follows it.
  const bare = pattern.replaceAll("\\\\", "");
  if (/(?<!\\)\(\?<?[=!]|\\[1-9]|\\k</.test(bare)) {
    throw schemaFault(path, `looks around or back: ${said}`, advice);
  }
}
