import { ConfigError } from "../../core/errors.ts";
import type { Grade, GradeInput, Grader, GradeTools } from "../../schema/grader.ts";
import { exact } from "./exact.ts";
import { expression } from "./expression.ts";
import { json } from "./json.ts";
import { numeric } from "./numeric.ts";
import { unitTests } from "./unit_tests.ts";

/** A grader with its options: judges one rollout. */
export type BoundGrader = {
  name: string;
  grade(input: GradeInput, tools: GradeTools): Promise<Grade>;
};

function erase<Options>(grader: Grader<Options>): Grader<unknown> {
  return grader as Grader<unknown>;
}

/** Every grader of this package. A new one: its file here, its options in schema/grader.ts, a line below. */
export const graders: readonly Grader<unknown>[] = [
  erase(exact),
  erase(numeric),
  erase(json),
  erase(expression),
  erase(unitTests),
];

/**
 * A grader ready to judge; `own` holds an experiment's own graders, which win over those of the same name.
 * @throws ConfigError "config" for an unknown name or wrong options
 */
export function bindGrader(name: string, options: unknown, own: readonly Grader<unknown>[] = []): BoundGrader {
  const known = [...own, ...graders];
  const grader = known.find((candidate) => candidate.name === name);
  if (!grader) {
    throw new ConfigError(`There is no grader "${name}".`, {
      do: `Use one of: ${graders.map((candidate) => candidate.name).join(", ")}.`,
    });
  }
  const parsed = grader.optionsSchema.safeParse(options ?? {});
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => `${issue.path.join(".") || "options"}: ${issue.message}`);
    throw new ConfigError(`Options of grader "${name}" are wrong: ${issues.join("; ")}.`, {
      do: "Correct graderOptions.",
    });
  }
  return { name, grade: async (input, tools) => grader.grade(input, parsed.data, tools) };
}
