import { ConfigError } from "../../core/errors.ts";
import { schemaFault } from "./schema_fault.ts";
import { isObject } from "./schema_object.ts";

/** Parts of a schema that are tried by themselves at most. */
const mostTried = 300;

const single = ["items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames"];
const lists = ["anyOf", "oneOf", "allOf", "prefixItems"];
const named = ["properties", "patternProperties", "$defs", "definitions"];

/** The schemas within one, each with where it stands. */
function partsOf(schema: unknown): [path: string, part: unknown][] {
  if (!isObject(schema)) return [];
  const of = (keys: readonly string[]) => keys.filter((key) => key in schema);
  return [
    ...of(single).map((key): [string, unknown] => [key, schema[key]]),
    ...of(lists).flatMap((key) =>
      Array.isArray(schema[key]) ? schema[key].map((part, i): [string, unknown] => [`${key}[${i}]`, part]) : [],
    ),
    ...of(named).flatMap((key) =>
      Object.entries(isObject(schema[key]) ? schema[key] : {}).map(([name, part]): [string, unknown] => [
        `${key}.${shown(name)}`,
        part,
      ]),
    ),
  ];
}

/** A name as its author wrote it; in a rewritten schema it stands as within a literal. */
function shown(name: string): string {
  try {
    return JSON.parse(`"${JSON.parse(`"${name}"`) as string}"`) as string;
  } catch {
    return name;
  }
}

/** Where in a schema that `convert` refuses the smallest part stands that it refuses too. */
export async function unfollowablePath(
  schema: unknown,
  convert: (part: unknown) => Promise<unknown>,
  root = "schema",
): Promise<string> {
  const { $defs, definitions } = isObject(schema) ? schema : {};
  let tried = 0;
  const isRefused = async (part: unknown): Promise<boolean> => {
    if (part === false) return true;
    if (!isObject(part) || tried++ >= mostTried) return false;
    return await convert({ ...part, ...($defs ? { $defs } : {}), ...(definitions ? { definitions } : {}) }).then(
      () => false,
      (thrown: unknown) => !(thrown instanceof WebAssembly.RuntimeError),
    );
  };
  const search = async (at: unknown, path: string): Promise<string> => {
    for (const [name, part] of partsOf(at)) {
      if (await isRefused(part)) return await search(part, `${path}.${name}`);
    }
    return path;
  };
  return await search(schema, root);
}

/** The refusal of a schema whose part at `path` the grammar library does not take. */
export function unfollowable(path: string, cause: unknown): ConfigError {
  const { message } = schemaFault(path, "asks for what no grammar can be made of", "");
  const advice = "Use types, properties, enum, const, anyOf, $ref into $defs, and plain patterns.";
  return new ConfigError(message, { do: advice, cause });
}
