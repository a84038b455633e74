/** JSON schemas as the grammar library follows them: names, allOf, what it reads over, and what contradicts itself. */
import { describe, expect, it } from "vitest";
import type { ConstraintSpec } from "../../src/schema/token_constraint.ts";
import { librarySchema } from "../../src/text/grammar/library_schema.ts";
import { unfollowable, unfollowablePath } from "../../src/text/grammar/unfollowable.ts";
import { unfollowedParts } from "../../src/text/grammar/unfollowed.ts";
import { constraints, draw } from "./grammar_draws.ts";

describe("names that the library would misread", () => {
  const odd = 'a"\n\\';

  it("are written as JSON writes them, wherever they stand", async () => {
    const inner = { type: "object", properties: { [odd]: { type: "boolean" } }, required: [odd] };
    const schema = {
      type: "object",
      properties: { [odd]: { type: "integer" }, "t\tab": inner, plain: { const: odd } },
      required: [odd, "t\tab", "plain"],
      additionalProperties: false,
    };
    for (let seed = 1; seed <= 5; seed++) {
      const text = await draw(constraints, { kind: "json_schema", schema }, seed);
      expect(JSON.parse(text)).toEqual({
        [odd]: expect.any(Number),
        "t\tab": { [odd]: expect.any(Boolean) },
        plain: odd,
      });
    }
  });

  it("stand in Qwen3-Coder's parameters as they are", () => {
    const { schema } = librarySchema({ properties: { [odd]: { properties: { [odd]: {} } } } }, "xml");
    const [[outer, value]] = Object.entries((schema as { properties: object }).properties) as [[string, unknown]];
    expect(JSON.parse(`"${outer}"`)).toBe(odd);
    const [[inner]] = Object.entries((value as { properties: object }).properties) as [[string, unknown]];
    expect(JSON.parse(`"${JSON.parse(`"${inner}"`) as string}"`)).toBe(odd);
  });
});

describe("schemas as the library follows them", () => {
  const unfollowed = (schema: unknown) => librarySchema(schema, "json").unfollowed;

  it("have the parts of allOf in one where that can be", async () => {
    const a = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
    const b = { properties: { b: { enum: ["x"] } }, required: ["b"] };
    const spec: ConstraintSpec = { kind: "json_schema", schema: { allOf: [a, b] } };
    expect(JSON.parse(await draw(constraints, spec, 1))).toEqual({ a: expect.any(Number), b: "x" });
    expect(unfollowed({ allOf: [a, b] })).toEqual([]);
    expect(librarySchema({ allOf: [{ type: "number" }, { type: ["integer", "null"] }] }, "json").schema).toEqual({
      type: "integer",
    });
    expect(unfollowed({ allOf: [{ $ref: "#/$defs/a" }], description: "d", $defs: { a } })).toEqual([]);
  });

  it("have bounds, values and properties of allOf that hold at once", async () => {
    const merged = (...allOf: object[]) => librarySchema({ allOf }, "json").schema;
    expect(merged({ enum: [1, 2, 3] }, { enum: [{ a: 1 }, 3, 2] }, { minimum: 3 })).toEqual({ enum: [3], minimum: 3 });
    expect(merged({ const: { a: 1, b: 2 } }, { const: { b: 2, a: 1 } })).toEqual({ const: { a: 1, b: 2 } });
    expect(merged({ type: "integer", minimum: 1, maximum: 9 }, { minimum: 3.5, exclusiveMaximum: 8 })).toEqual({
      ...{ type: "integer", minimum: 4, maximum: 7 },
    });
    const a = { properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] };
    const b = { properties: { n: { maximum: 1 } } };
    const spec: ConstraintSpec = {
      kind: "json_schema",
      schema: { type: "object", allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/b" }], $defs: { a, b } },
    };
    expect(JSON.parse(await draw(constraints, spec, 1))).toEqual({ n: 1 });
    expect(unfollowedParts(spec)).toEqual([]);
    expect(librarySchema({ type: "string", anyOf: [{ const: 1 }, { const: "x" }] }, "json").schema).toMatchObject({
      anyOf: [{ const: "x" }],
    });
  });

  it("follow references that lead back, as far as they can be told in one", () => {
    const $defs = { n: { allOf: [{ $ref: "#/$defs/n" }, { properties: { a: {} } }] } };
    expect(unfollowed({ allOf: [{ $ref: "#/$defs/n" }, { type: "object" }], $defs })).toContain("schema.allOf");
    const next = { allOf: [{ $ref: "#/$defs/m" }, { description: "d" }] };
    const m = { type: "object", properties: { next }, required: [] };
    expect(unfollowed({ allOf: [{ $ref: "#/$defs/m" }, { title: "t" }], $defs: { m } })).toContain(
      "schema.properties.next.allOf",
    );
  });

  it("say what a reply may break", () => {
    expect(unfollowed({ not: { type: "string" } })).toEqual(["schema.not"]);
    expect(unfollowed({ allOf: [{ pattern: "a" }, { pattern: "b" }] })).toEqual(["schema.allOf"]);
    expect(unfollowed({ type: "object", additionalProperties: false, allOf: [{ properties: { a: {} } }] })).toEqual([
      "schema.allOf",
    ]);
    expect(unfollowed({ items: { type: "integer", multipleOf: 5 }, uniqueItems: true })).toEqual([
      "schema.uniqueItems",
      "schema.items.multipleOf",
    ]);
    expect(unfollowed({ anyOf: [{ required: ["a"] }], properties: { a: {} }, title: "t" })).toEqual([
      "schema.properties",
    ]);
    expect(unfollowed({ if: {}, else: {} })).toEqual(["schema.if", "schema.else"]);
    const spec: ConstraintSpec = {
      kind: "tool_calls",
      tools: [{ name: "f", parameters: { properties: { x: { not: {} } } } }],
      required: true,
      parallel: false,
    };
    expect(unfollowedParts({ kind: "after_thinking", end: "</think>", answer: spec })).toEqual([
      "f: schema.properties.x.not",
    ]);
  });

  it("describe what they require, and list no values that their type excludes", async () => {
    const required: ConstraintSpec = { kind: "json_schema", schema: { type: "object", required: ["zz"] } };
    expect(Object.keys(JSON.parse(await draw(constraints, required, 3)) as object)).toEqual(["zz"]);
    const values: ConstraintSpec = { kind: "json_schema", schema: { type: "integer", enum: ["a", 1] } };
    expect(await draw(constraints, values, 1)).toBe("1");
  });
});

it("a property that is false is left out", async () => {
  const schema = { type: "object", properties: { a: false, b: { const: 1 } }, required: ["b"] };
  const closed: ConstraintSpec = { kind: "json_schema", schema: { ...schema, additionalProperties: false } };
  expect(JSON.parse(await draw(constraints, closed, 1))).toEqual({ b: 1 });
  expect([unfollowedParts(closed), librarySchema(schema, "json").unfollowed]).toEqual([[], ["schema.properties.a"]]);
});

describe("what only the library refuses", () => {
  const convert = async (part: unknown): Promise<void> => {
    if (JSON.stringify(part).includes("odd")) throw new Error("words of the library");
  };

  it.each<[unknown, string]>([
    [
      { properties: { 'x\\\\\\"y': { items: { anyOf: [{}, { const: "odd" }] } } } },
      'schema.properties.x"y.items.anyOf[1]',
    ],
    [{ $ref: "#/$defs/a", $defs: { a: { format: "odd" } } }, "schema.$defs.a"],
    [{ format: "odd" }, "schema"],
  ])("is found in %j", async (schema, path) => {
    expect(await unfollowablePath(schema, convert)).toBe(path);
  });

  it("is said in words of our own", () => {
    const { message, code, cause } = unfollowable("schema.items", new Error("words of the library"));
    expect([code, message]).toEqual([
      "config",
      "The JSON schema of the reply cannot be followed: schema.items asks for what no grammar can be made of.",
    ]);
    expect(cause).toBeInstanceOf(Error);
  });
});

describe("schemas that nothing fits", () => {
  it.each<[string, ConstraintSpec, RegExp]>([
    [
      "an allOf that nothing fits",
      { kind: "json_schema", schema: { allOf: [{ type: "string" }, { type: "integer" }] } },
      /schema\.allOf asks for string and integer at once/,
    ],
    [
      "an allOf of two constants",
      { kind: "json_schema", schema: { properties: { a: { allOf: [{ const: 1 }, { const: 2 }] } } } },
      /schema\.properties\.a\.allOf asks for 1 and 2 at once/,
    ],
    [
      "an allOf of lists with nothing in common",
      { kind: "json_schema", schema: { allOf: [{ enum: [1, 2] }, { enum: [3] }] } },
      /schema\.allOf has lists of values with none in common/,
    ],
    [
      "a constant beside a list without it",
      { kind: "json_schema", schema: { allOf: [{ enum: [1, 2] }, { const: 3 }] } },
      /schema\.const is 3, which enum does not list/,
    ],
    [
      "an allOf of bounds",
      { kind: "json_schema", schema: { type: "integer", allOf: [{ minimum: 5 }, { maximum: 2 }] } },
      /schema\.allOf has minimum 5 above maximum 2/,
    ],
    [
      "an allOf of lengths",
      { kind: "json_schema", schema: { type: "string", minLength: 5, allOf: [{ maxLength: 2 }] } },
      /schema\.allOf has minLength 5 above maxLength 2/,
    ],
    [
      "an allOf whose properties contradict each other",
      {
        kind: "json_schema",
        schema: { allOf: [{ properties: { a: { const: 1 } } }, { properties: { a: { type: "string" } } }] },
      },
      /schema\.properties\.a\.const is 1, which is no string/,
    ],
    [
      "an allOf of references that contradict each other",
      {
        kind: "json_schema",
        schema: { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/b" }], $defs: { a: { const: 1 }, b: { const: 2 } } },
      },
      /schema\.allOf asks for 1 and 2 at once/,
    ],
    [
      "a reference beside what contradicts it",
      { kind: "json_schema", schema: { $ref: "#/$defs/a", type: "string", $defs: { a: { type: "integer" } } } },
      /schema\.allOf asks for string and integer at once/,
    ],
    [
      "an allOf with false",
      { kind: "json_schema", schema: { allOf: [{}, false] } },
      /schema\.allOf has a part that is false/,
    ],
    [
      "alternatives that the rest excludes",
      { kind: "json_schema", schema: { type: "string", anyOf: [{ const: 1 }, { type: "null" }, false] } },
      /schema\.anyOf has no choice that anything fits/,
    ],
    [
      "an allOf of alternatives and a constant",
      { kind: "json_schema", schema: { allOf: [{ const: 1 }, { oneOf: [{ const: 2 }, { enum: [3] }] }] } },
      /schema\.oneOf has no choice that anything fits/,
    ],
    [
      "values beyond the bounds",
      { kind: "json_schema", schema: { enum: [1, 2], minimum: 5 } },
      /schema\.enum lists nothing within the bounds beside it/,
    ],
    [
      "a constant beyond the bounds",
      { kind: "json_schema", schema: { const: "abc", maxLength: 2 } },
      /schema\.const is "abc", beyond the bounds beside it/,
    ],
    [
      "a property that is false and required",
      { kind: "json_schema", schema: { type: "object", properties: { a: false }, required: ["a"] } },
      /schema\.properties\.a is false and required, so nothing fits it/,
    ],
    [
      "a constant of another type",
      { kind: "json_schema", schema: { properties: { a: { type: "integer", const: "x" } } } },
      /schema\.properties\.a\.const is "x", which is no integer/,
    ],
    [
      "values of other types",
      { kind: "json_schema", schema: { type: "null", enum: [1] } },
      /schema\.enum lists no null/,
    ],
    [
      "a property that is required and forbidden",
      { kind: "json_schema", schema: { type: "object", required: ["a"], additionalProperties: false } },
      /schema requires "a", which it does not allow/,
    ],
    [
      "a reference through a name that is not in letters",
      { kind: "json_schema", schema: { $ref: "#/$defs/a~1b", $defs: { "a/b": {} } } },
      /schema\.\$ref goes through an unusual name: "#\/\$defs\/a~1b"/,
    ],
  ])("%s: are refused", async (_name, spec, message) => {
    await expect(constraints.compile(spec)).rejects.toMatchObject({ code: "config" });
    await expect(constraints.compile(spec)).rejects.toThrow(message);
  });
});
