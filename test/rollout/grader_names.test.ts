/** Who may judge: what a wrong name is answered with, and what people read. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { bindGrader, graders } from "../../src/rollout/graders/registry.ts";
import type { Grader } from "../../src/schema/grader.ts";

describe("the graders", () => {
  it("are named to whoever asks for another, without those that only a program sets", () => {
    const own: Grader<unknown> = {
      name: "edited",
      optionsSchema: z.unknown(),
      grade: () => ({ value: 1, reason: "own" }),
    };
    expect(() => bindGrader("numeri", {}, [own])).toThrow(
      expect.objectContaining({
        message: 'There is no grader "numeri".',
        do: "Use one of: exact, numeric, json, expression, unit_tests.",
      }),
    );
    expect(bindGrader("edited", {}, [own]).name).toBe("edited");
  });

  it("all stand in the README, with every option", () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    const rows = new Map(readme.split("\n").map((line) => [/^\| `(\w+)` \|/.exec(line)?.[1] ?? "", line]));
    for (const { name, optionsSchema } of graders) {
      const { properties } = z.toJSONSchema(optionsSchema, { io: "input" }) as { properties: Record<string, unknown> };
      for (const option of Object.keys(properties)) expect(rows.get(name)).toMatch(new RegExp(`\`${option}[\`:]`));
    }
  });
});
