import axe from "axe-core";
import type { Page } from "playwright-core";

/** WCAG 2.2 at levels A and AA, as far as a machine can tell. */
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** What of an opened page breaks WCAG A or AA, or the named rules: each rule, an element and what is wrong with it. */
export async function violationsOf(page: Page, rules: readonly string[] = []): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(
    (runOnly) =>
      (globalThis as unknown as { axe: typeof axe }).axe.run(document, { runOnly, resultTypes: ["violations"] }),
    rules.length === 0 ? { type: "tag" as const, values: tags } : { type: "rule" as const, values: [...rules] },
  );
  if (passes.length === 0) throw new Error("No rule found anything to look at.");
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary = "" }) => `${id}: ${target.join(" ")}: ${failureSummary.replaceAll(/\s+/g, " ")}`,
    ),
  );
}
