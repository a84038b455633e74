import { describe, expect, it } from "vitest";
import { surveyTemplates } from "./every_template.ts";

describe("conversations in every published template", () => {
  it("continue verbatim or say why not, and no text spells a special token", () => {
    const { counts, refusing } = surveyTemplates(1);
    // One template needs a variable of its own: the date as `datetime`.
    expect(refusing).toEqual(["25b097cb6028"]);
    expect(counts.verbatim).toBeGreaterThan(4 * counts.break);
  });
});
