import { describe, expect, it } from "vitest";
import { surveyTemplates } from "../text/every_template.ts";

describe("ten thousand conversations in every published template", () => {
  it("continue verbatim or say why not, and no text spells a special token", () => {
    const { counts, refusing } = surveyTemplates(52);
    console.log(JSON.stringify(counts));
    expect(refusing).toEqual(["25b097cb6028"]);
    expect(counts.verbatim + counts.break + counts.refused).toBeGreaterThanOrEqual(10_000);
  });
});
