/**
 * Every view of the studio, light and dark, in English and Korean: nothing is refused, nothing scrolls sideways, nothing is
 * asked of others. Screenshots of all of them go to the folder that LEYDEN_SCREENSHOTS names.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hostileRollout, longRollout } from "./support/recorded_run.ts";
import { StudioBrowser } from "./support/studio_browser.ts";
import { type StudioSite, serveStudio } from "./support/studio_site.ts";

const groups = 125;
const screenshots = process.env.LEYDEN_SCREENSHOTS ?? "";

let site: StudioSite;
let browser: StudioBrowser;

beforeAll(async () => {
  site = await serveStudio(groups);
  browser = await StudioBrowser.launch(site.url);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

const views: readonly (readonly [name: string, hash: string, heading: string])[] = [
  ["overview", "#/", "Reward"],
  ["rollouts", "#/rollouts", "g000124-s7"],
  ["rollout", "#/rollouts/g000043-s0", "g000043-s0-1"],
  ["long_rollout", `#/rollouts/${longRollout}/${longRollout}-12`, `${longRollout}-12`],
  ["hostile_rollout", `#/rollouts/${hostileRollout}`, "hostile-call"],
  ["group", "#/groups/g000043", "pens-43"],
  ["device", "#/timeline", "−30 s"],
  ["compare", "#/compare?run=calc-seed-2", "train.learningRate"],
];

describe.each([
  ["light", "en"],
  ["dark", "ko"],
])("every view, %s, %s", (scheme, language) => {
  it.each(views)("%s", async (name, hash, text) => {
    const page = await browser.open(hash, { dark: scheme === "dark", language });
    if (name === "overview" || name === "device") await page.getByRole("img").first().waitFor();
    else await page.getByText(text, { exact: true }).first().waitFor();
    await page.waitForTimeout(400);
    expect(await page.locator(".st-error[role=alert]").count()).toBe(0);
    // The page itself never scrolls sideways.
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    if (screenshots !== "") {
      mkdirSync(screenshots, { recursive: true });
      await page.screenshot({
        path: join(screenshots, `studio_${name}_${scheme}_${language}.png`),
        fullPage: name !== "rollouts",
      });
    }
    await page.context().close();
  });
});

it("asks nobody else, and says nothing in the console", () => {
  expect(browser.foreign).toEqual([]);
  expect(browser.problems).toEqual([]);
});
