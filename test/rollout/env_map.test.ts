import { describe, expect, it } from "vitest";
import { resolveEnvMap } from "../../src/rollout/env_map.ts";

const input = { a: { b: ["x", { c: "é" }] }, n: 1.5, yes: true, nothing: null, "0": "zero", text: "plain" };

describe("env_map (Agent Lightning v1, local runner)", () => {
  it.each([
    ["the whole input", "input", JSON.stringify(input)],
    ["an object by key", "input.a", '{"b":["x",{"c":"é"}]}'],
    ["a list by index", "input.a.b.0", "x"],
    ["objects and lists in turn", "input.a.b.1.c", "é"],
    ["a digit as an object's key", "input.0", "zero"],
    ["a string as it is", "input.text", "plain"],
    ["a number as JSON", "input.n", "1.5"],
    ["true as JSON", "input.yes", "true"],
    ["null as JSON", "input.nothing", "null"],
    ["a literal", "hello", "hello"],
    ["a literal that begins alike", "inputs.a", "inputs.a"],
    ["an empty literal", "", ""],
  ])("gives %s", (_, source, expected) => {
    expect(resolveEnvMap(input, { V: source })).toEqual({ V: expected });
  });

  it("gives a string input itself", () => {
    expect(resolveEnvMap("just text", { V: "input" })).toEqual({ V: "just text" });
    expect(resolveEnvMap(null, { V: "input" })).toEqual({ V: "null" });
  });

  it.each([
    ["input.zz"],
    ["input.a.b.2"],
    ["input.a.b.-1"],
    ["input.a.b.x"],
    ["input.text.0"],
    ["input.n.a"],
    ["input."],
    ["input.toString"],
  ])("refuses %s, which leads nowhere", (source) => {
    expect(() => resolveEnvMap(input, { V: source })).toThrow(`local.env_map path not found: ${source}`);
  });

  it("names the variable whose value is no JSON", () => {
    expect(() => resolveEnvMap({ big: 1n }, { SIZE: "input.big" })).toThrow(
      "local.env_map variable SIZE: the value cannot be written as JSON.",
    );
  });
});
