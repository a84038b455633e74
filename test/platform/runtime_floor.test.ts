import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { floors, tooOld } from "../../src/platform/runtime_floor.mjs";

describe("oldest runtimes", () => {
  it("agree with package.json", () => {
    const { engines } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(engines.node).toBe(`>=${floors.node.join(".")}`);
  });

  it.each(["24.15.0", "24.15.0-nightly", "24.21.3", "25.0.0", "100.0.0"])("accept Node %s", (node) => {
    expect(tooOld({ node })).toBeNull();
  });

  it.each(["24.14.9", "23.99.0", "20.20.2", "4.0.0"])("refuse Node %s", (node) => {
    expect(tooOld({ node })).toEqual({
      code: "runtime_too_old",
      message: `Node ${node} is too old; Leyden needs 24.15 or later.`,
      do: 'Install a newer Node. In a clone, "npm ci" brings one for npm scripts (npm run …) unless install scripts are off.',
    });
  });

  it("judge Deno by its own version", () => {
    expect(tooOld({ node: "20.0.0", deno: "2.9.6" })).toBeNull();
    expect(tooOld({ node: "26.3.0", deno: "2.8.9" })?.message).toBe(
      "Deno 2.8.9 is too old; Leyden needs 2.9 or later.",
    );
  });
});
