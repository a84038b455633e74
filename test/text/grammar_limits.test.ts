/** What no constraint can be made of, or not in time: refused with the place, and the constraints of others go on. */
import { describe, expect, it } from "vitest";
import type { ConstraintSpec } from "../../src/schema/token_constraint.ts";
import { allowed, constraints, format } from "./grammar_draws.ts";

/** One schema within another, `levels` deep. */
function nested(levels: number): object {
  return levels === 0 ? { type: "string" } : { type: "array", items: nested(levels - 1) };
}

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`);
const named = (count: number) => Object.fromEntries(numbered(count).map((name) => [name, {}]));

/** Schemas at which the library would end itself, or stay for minutes. */
const refusedSchemas: [string, object, RegExp][] = [
  ["a reference to itself", { $ref: "#" }, /schema\.\$ref leads back to itself: "#"/],
  [
    "references in a circle",
    { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" },
    /schema\.\$ref leads back to itself: "#\/\$defs\/a"/,
  ],
  ["a reference that is no pointer", { $ref: "#/%" }, /points to nothing: "#\/%"/],
  ["an inherited member", { $ref: "#/constructor" }, /points to nothing: "#\/constructor"/],
  ["too many levels", nested(3000), /schema is nested deeper than 50 levels/],
  ["too many properties", { properties: named(1001) }, /brings the schema to 1001 properties, more than 1000/],
  ["too many enum values", { enum: numbered(10_001) }, /brings the schema to 10001 enum values, more than 10000/],
  ["too long values", { const: "x".repeat(250_000) }, /to 250002 characters of names and values, more than 250000/],
  ["a negative length", { type: "string", minLength: -1 }, /schema\.minLength is -1/],
  ["a length beyond 32 bits", { type: "string", maxLength: 1e15 }, /schema\.maxLength is 1000000000000000/],
  ["a length that is no number", { type: "array", minItems: "x" }, /schema\.minItems is "x"/],
  ["contradicting lengths", { type: "string", minLength: 5, maxLength: 2 }, /schema has minLength 5 above maxLength 2/],
  ["contradicting bounds", { type: "integer", minimum: 5, maximum: 2 }, /schema has minimum 5 above maximum 2/],
  ["an integer beyond 64 bits", { type: "integer", minimum: 1e300 }, /schema\.minimum is 1e\+300, beyond 64 bits/],
  ["no choice", { properties: { a: { enum: [] } } }, /schema\.properties\.a\.enum is empty, so nothing fits it/],
  ["no alternative", { anyOf: [] }, /schema\.anyOf is empty, so nothing fits it/],
  ["a broken pattern", { type: "string", pattern: "([" }, /schema\.pattern is no regular expression: "\(\["/],
  [
    "a broken pattern of names",
    { type: "object", patternProperties: { "^[": {} } },
    /schema\.patternProperties is no regular expression: "\^\["/,
  ],
  ["a pattern that looks behind", { type: "string", pattern: "(?<=a)b" }, /schema\.pattern looks around or back/],
  [
    "a pattern with a border of words",
    { type: "string", pattern: "a\\b" },
    /schema\.pattern asks for the border of a word/,
  ],
  ["a pattern with a Unicode property", { type: "string", pattern: "[\\p{L}]+" }, /asks for a property of Unicode/],
  [
    "a pattern with a loose brace",
    { type: "string", pattern: "a{,5}" },
    /has a brace that is neither a count nor escaped/,
  ],
  ["a pattern with an empty class", { type: "string", pattern: "a[]" }, /has brackets with nothing between them/],
  ["a pattern with a range to a class", { type: "string", pattern: "[a-\\d]" }, /has a range that ends in a class/],
  [
    "counts within counts within counts",
    { properties: { a: { pattern: "^((a{1,1000}){1,1000}){1,1000}$" } } },
    /schema\.properties\.a\.pattern repeats what is itself repeated: 1000000000 parts when written out, more than 10000/,
  ],
  [
    "counts within counts, of names",
    { patternProperties: { "((a{99}){99}){99}": {} } },
    /schema\.patternProperties repeats what is itself repeated: 970299 parts/,
  ],
  [
    "too many repetitions",
    { pattern: "[ab]?".repeat(401) },
    /schema\.pattern has 401 groups and repetitions, more than 400/,
  ],
  ["a bound that is no number", { type: "integer", minimum: "a" }, /schema\.minimum is "a", no number/],
  [
    "a bound in an old form",
    { type: "integer", exclusiveMinimum: true },
    /schema\.exclusiveMinimum is true, no number/,
  ],
  [
    "no whole number between",
    { type: "integer", exclusiveMinimum: 1, exclusiveMaximum: 2 },
    /schema has exclusiveMinimum 1 and exclusiveMaximum 2, and no whole number between/,
  ],
  [
    "no whole number between fractions",
    { type: "integer", minimum: 1.2, maximum: 1.8 },
    /schema has minimum 1\.2 and maximum 1\.8, and no whole number between/,
  ],
  [
    "no number between",
    { type: "number", exclusiveMinimum: 1, maximum: 1 },
    /schema has exclusiveMinimum 1 and maximum 1, and no number between/,
  ],
  [
    "more items than places",
    { type: "array", prefixItems: [{}], items: false, minItems: 3 },
    /schema asks for 3 items and has a place for 1/,
  ],
  ["fewer items than places", { prefixItems: [{}, {}], maxItems: 1 }, /schema allows 1 items and describes 2/],
  [
    "more properties than are allowed",
    { type: "object", properties: { a: {} }, additionalProperties: false, minProperties: 3 },
    /schema asks for 3 properties and describes 1/,
  ],
  ["no names", { type: "object", propertyNames: false }, /schema\.propertyNames is false/],
  ["no type", { type: [] }, /schema\.type is empty, so nothing fits it/],
  ["an enum that is no list", { enum: 5 }, /schema\.enum is no list/],
  ["names that are no list", { type: "object", required: 5 }, /schema\.required is no list of names/],
  ["a format that is no text", { type: "string", format: 5 }, /schema\.format is no text/],
  [
    "more names than properties",
    { type: "object", properties: { a: {}, b: {} }, required: ["a", "b"], maxProperties: 1 },
    /schema requires 2 properties and allows 1/,
  ],
  ["a pattern that refers back", { type: "string", pattern: "(a)\\1" }, /schema\.pattern looks around or back/],
];

describe("schemas at the limits", () => {
  it.each<[string, object]>([
    ["50 levels", nested(49)],
    ["a list of itself", { $defs: { n: { properties: { next: { $ref: "#/$defs/n" } } } }, $ref: "#/$defs/n" }],
    ["an escaped backslash before a digit", { type: "string", pattern: "\\\\1" }],
    ["a parenthesis that is text", { type: "string", pattern: "\\(\\?=" }],
    ["counts within counts that are few", { type: "string", pattern: "^((?:[0-9a-f]{1,4}:){7}){1,30}$" }],
    ["one count, however large", { type: "string", pattern: "^[a-z]{1,100000}$" }],
    ["counts that are text", { type: "string", pattern: "^\\{1000\\}[{]1000}(a{2}){2}$" }],
    ["fractions around whole numbers", { type: "integer", minimum: 1.2, exclusiveMaximum: 3 }],
    ["equal bounds", { type: "string", minLength: 2, maxLength: 2 }],
  ])("%s: compile", async (_name, schema) => {
    const constraint = await constraints.compile({ kind: "json_schema", schema });
    expect((await allowed(constraint)).length).toBeGreaterThan(0);
    constraint.dispose();
  });
});

describe("constraints that cannot be", () => {
  it.each<[string, ConstraintSpec, RegExp]>([
    ["an unknown type", { kind: "json_schema", schema: { type: "text" } }, /schema\.type is "text".*/],
    [
      "a reference to nowhere",
      { kind: "json_schema", schema: { properties: { a: { $ref: "#/$defs/b" } } } },
      /schema\.properties\.a\.\$ref points to nothing: "#\/\$defs\/b"/,
    ],
    ["a schema that is none", { kind: "json_schema", schema: { anyOf: [3] } }, /schema\.anyOf\[0\] is no JSON Schema/],
    ...refusedSchemas.map(([name, schema, message]): [string, ConstraintSpec, RegExp] => [
      name,
      { kind: "json_schema", schema },
      message,
    ]),
    [
      "a tool's schema",
      {
        ...{ kind: "tool_calls", required: true, parallel: false },
        tools: [{ name: "f", parameters: { properties: { a: { enum: [] } } } }],
      },
      /cannot be followed: f\.parameters\.properties\.a\.enum is empty/,
    ],
    [
      "a grammar that writes out too much",
      { kind: "grammar", grammar: 'root ::= (("a"{1,1000}){1,1000}){1,1000}' },
      /^The grammar of the reply cannot be followed: it repeats what is itself repeated: 1000000000 parts/,
    ],
    [
      "a grammar without a root",
      { kind: "grammar", grammar: 'x ::= "a"' },
      /^The grammar of the reply cannot be followed: it cannot be read at line 1, column 1\.$/,
    ],
    [
      "an empty grammar",
      { kind: "grammar", grammar: "" },
      /^The grammar of the reply cannot be followed: it is none that the grammar compiler takes\.$/,
    ],
    [
      "a broken grammar",
      { kind: "grammar", grammar: "root ::= nope" },
      /^The grammar of the reply cannot be followed: it cannot be read at line 1, column 10\.$/,
    ],
  ])("%s are refused and leave the others alone", async (_name, spec, message) => {
    await expect(constraints.compile(spec)).rejects.toMatchObject({ code: "config" });
    await expect(constraints.compile(spec)).rejects.toThrow(message);
    const constraint = await constraints.compile({ kind: "json_object" });
    expect(await allowed(constraint)).toContain(format.tokenizer.encode("{")[0]);
    constraint.dispose();
  });
});
