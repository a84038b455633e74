/**
 * What a machine can tell of WCAG 2.2 at levels A and AA (axe-core), for every view of the studio, the page of a tab and a
 * lesson: all rules in the light, contrasts in the dark too. What it cannot tell is in test/page/studio.test.ts (keys
 * alone) and test/studio/contrast.test.ts (every colour on every ground).
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { strToU8, zipSync } from "fflate";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runConfig } from "../app/tab/run_configs.ts";
import { violationsOf } from "./support/accessibility.ts";
import { launchChromium } from "./support/chromium.ts";
import { type PageSite, servePage } from "./support/page_site.ts";
import { hostileRollout, longRollout } from "./support/recorded_run.ts";
import { type StudioSite, serveStudio } from "./support/studio_site.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

/** A page of its own in English, in the light. */
async function openedAt(url: string): Promise<Page> {
  const context = await browser.newContext({ locale: "en-US", colorScheme: "light" });
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** Opens every part that can be opened: what is closed is not looked at. */
async function unfold(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
}

/** Violations in the light, then contrasts in the dark. */
async function inBothSchemes(page: Page): Promise<string[]> {
  await unfold(page);
  const light = await violationsOf(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForTimeout(250);
  const dark = await violationsOf(page, ["color-contrast"]);
  await page.emulateMedia({ colorScheme: "light" });
  return [...light, ...dark.map((violation) => `in the dark, ${violation}`)];
}

describe("the studio", () => {
  let site: StudioSite;
  let page: Page;

  beforeAll(async () => {
    site = await serveStudio(45);
    page = await openedAt(`${site.url}/studio/?k=admin#/`);
  }, 60_000);
  afterAll(() => site?.close());

  it.each([
    ["overview", "#/", "Reward"],
    ["rollouts", "#/rollouts", "g000044-s7"],
    ["rollout", "#/rollouts/g000043-s0", "g000043-s0-1"],
    ["rollout of 200 calls", `#/rollouts/${longRollout}/${longRollout}-12`, `${longRollout}-12`],
    ["hostile rollout", `#/rollouts/${hostileRollout}`, "hostile-call"],
    ["group", "#/groups/g000043", "pens-43"],
    ["device", "#/timeline", "−30 s"],
    ["comparison", "#/compare?run=calc-seed-2", "train.learningRate"],
  ])("has no violation in the view of %s", async (name, hash, text) => {
    await page.evaluate((place) => location.assign(place), hash);
    if (name === "overview" || name === "device") await page.getByRole("img").first().waitFor();
    else await page.getByText(text, { exact: true }).first().waitFor();
    expect(await inBothSchemes(page)).toEqual([]);
  });

  it("has no violation in its list of keys", async () => {
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    expect(await inBothSchemes(page)).toEqual([]);
  });
});

describe("the page of a tab", () => {
  let site: PageSite;
  let page: Page;

  beforeAll(async () => {
    site = await servePage();
    page = await openedAt(site.url);
  }, 60_000);
  afterAll(() => site?.close());

  it.each([
    ["run", "#run", "Train an agent's model in this tab"],
    ["models", "#model", "Models and checkpoints"],
    ["list of lessons", "#lesson", ""],
    ["a lesson", "#lesson/01-policy", "A policy, a harness, a reward"],
  ])("has no violation in %s", async (_, hash, title) => {
    await page.evaluate((place) => location.assign(place), hash);
    await page.getByRole("heading", { level: 1, ...(title === "" ? {} : { name: title }) }).waitFor();
    expect(await inBothSchemes(page)).toEqual([]);
  });

  it("has no violation in models that keep some, one of which is to be replaced, nor in the question before a deletion", async () => {
    const folder = await mkdtemp(join(tmpdir(), "leyden-accessibility-"));
    for (const name of ["config.json", "tokenizer.json", "model.safetensors"]) {
      await writeFile(join(folder, name), "{}");
    }
    await page.evaluate(() => location.assign("#model"));
    await page.getByLabel("Choose a folder").setInputFiles(folder);
    await page.getByRole("button", { name: /^Delete leyden-accessibility-/ }).waitFor();
    const buffer = Buffer.from(zipSync({ "config.json": strToU8(runConfig) }));
    const bring = () =>
      page.getByLabel("Import a run").setInputFiles({ name: "run.zip", mimeType: "application/zip", buffer });
    await bring();
    await page.getByRole("button", { name: "Import it", exact: true }).click();
    await page.getByRole("button", { name: "Export Calculator agent" }).waitFor();
    await bring();
    await page.getByText("A run of this experiment is kept here, and is deleted for it.").waitFor();
    expect(await inBothSchemes(page)).toEqual([]);
    await page.getByRole("button", { name: "Delete Calculator agent" }).click();
    await page.getByRole("alertdialog", { name: "Delete Calculator agent" }).waitFor();
    expect(await inBothSchemes(page)).toEqual([]);
    await rm(folder, { recursive: true });
  });
});
