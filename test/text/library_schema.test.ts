/** JSON schemas as the grammar library follows them: names, allOf, what it reads over, and what contradicts itself. */
import { describe, expect, it } from "vitest";
import type { ConstraintSpec } from "../../src/schema/token_constraint.ts";
import { librarySchema } from "../../src/text/grammar/library_schema.ts";
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

describe("schemas that nothing fits", () => {
  it.each<[string, ConstraintSpec, RegExp]>([
    [
      "an allOf that nothing fits",
      { kind: "json_schema", schema: { allOf: [{ type: "string" }, { type: "integer" }] } },
      /schema\.allOf asks for string and integer at once/,
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
