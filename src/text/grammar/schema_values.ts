import { isWithin, rangeOf } from "./number_range.ts";
import { schemaFault } from "./schema_fault.ts";
import { isObject, type Schema, sameValue } from "./schema_object.ts";

const typeTests: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

/** How long a value is, and the names of the bounds of that; null for one that has no length. */
function lengthOf(value: unknown): [length: number, what: string] | null {
  if (typeof value === "string") return [[...value].length, "Length"];
  if (Array.isArray(value)) return [value.length, "Items"];
  return isObject(value) ? [Object.keys(value).length, "Properties"] : null;
}

/** True when a value keeps to the bounds of numbers and lengths that stand beside it. */
function keepsBounds(value: unknown, schema: Schema): boolean {
  if (typeof value === "number") return isWithin(value, rangeOf(schema));
  const sized = lengthOf(value);
  if (sized === null) return true;
  const [length, what] = sized;
  const [least = 0, most = Infinity] = [schema[`min${what}`], schema[`max${what}`]] as (number | undefined)[];
  return length >= least && length <= most;
}

/**
 * A schema without the values of its list that the rest of it excludes by type or bounds: the library would offer them.
 * @throws ConfigError "config" when that leaves none
 */
export function fittingValues(schema: Schema, path: string): Schema {
  const { type, enum: values } = schema;
  const types = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === "string");
  const isOfType = (value: unknown) => types.length === 0 || types.some((name) => typeTests[name as string]?.(value));
  const advice = "Make type and values agree.";
  if ("const" in schema) {
    const said = JSON.stringify(schema.const);
    if (!isOfType(schema.const)) {
      throw schemaFault(`${path}.const`, `is ${said}, which is no ${types.join(" or ")}`, advice);
    }
    if (!keepsBounds(schema.const, schema)) {
      throw schemaFault(`${path}.const`, `is ${said}, beyond the bounds beside it`, "Make value and bounds agree.");
    }
    if (Array.isArray(values) && !values.some((value) => sameValue(value, schema.const))) {
      throw schemaFault(`${path}.const`, `is ${said}, which enum does not list`, "Make const and enum agree.");
    }
    const { enum: _, ...rest } = schema;
    return rest;
  }
  if (!Array.isArray(values)) return schema;
  const typed = values.filter(isOfType);
  if (typed.length === 0) throw schemaFault(`${path}.enum`, `lists no ${types.join(" or ")}`, advice);
  const fitting = typed.filter((value) => keepsBounds(value, schema));
  if (fitting.length === 0) {
    throw schemaFault(`${path}.enum`, "lists nothing within the bounds beside it", "Make values and bounds agree.");
  }
  return fitting.length === values.length ? schema : { ...schema, enum: fitting };
}
