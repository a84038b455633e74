// "Continue the last run" is there when there is one: not at first, not for another experiment, and after a reload only
// where the browser stores files. Why it is not is said in words.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildSingleFile } from "../../src/app/page_build/build_page.ts";
import { complaintsOf, launchChromium } from "./support/chromium.ts";
import { servePage } from "./support/page_site.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** A software adapter, others at work beside it. */
const runMs = 240_000;
let browser: Browser;
let context: BrowserContext;
let complaints: string[];
let page: Page;

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());
beforeEach(async () => {
  context = await browser.newContext({ locale: "en-US" });
  complaints = complaintsOf(context);
  page = await context.newPage();
});
afterEach(() => context?.close());

const button = () => page.getByRole("button", { name: "Continue the last run" });
const choose = (experiment: string) => page.getByRole("combobox", { name: /^Experiment/ }).selectOption(experiment);

/** What a screen reader says of the button besides its name. */
async function reason(): Promise<string> {
  const id = (await button().getAttribute("aria-describedby")) ?? "";
  return id === "" ? "" : ((await page.locator(`#${id}`).textContent()) ?? "");
}

async function isOffered(): Promise<void> {
  await expect.poll(() => button().isEnabled(), { timeout: runMs }).toBe(true);
  expect(await reason()).toBe("");
}

async function isRefused(): Promise<void> {
  await expect.poll(reason, { timeout: runMs }).toMatch(/^There is nothing to continue: no run of this experiment/);
  expect(await button().isDisabled()).toBe(true);
}

/** Opens the model and stops before the first update. */
async function startAndStop(): Promise<void> {
  await page.getByRole("button", { name: "Open, and wait" }).click();
  await page.getByRole("status").filter({ hasText: "Paused" }).waitFor({ timeout: runMs });
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("status").filter({ hasText: "Stopped" }).waitFor({ timeout: runMs });
}

describe("continuing the last run", () => {
  it("is offered where there is one, a reload later too", async () => {
    const site = await servePage();
    await page.goto(site.url);
    await choose("clerk");
    await isRefused();
    await startAndStop();
    await isOffered();
    await choose("calc");
    await isRefused();
    await page.reload();
    await choose("clerk");
    await isOffered();
    await button().click();
    await page.getByRole("status").filter({ hasText: "Training" }).waitFor({ timeout: runMs });
    await site.close();
    expect(complaints).toEqual([]);
  });

  it("is not offered by a page from a disk that has forgotten it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "leyden-continue-"));
    const path = join(folder, "leyden.html");
    await writeFile(path, await buildSingleFile(esbuild, root));
    await page.goto(pathToFileURL(path).href);
    await choose("clerk");
    await isRefused();
    await startAndStop();
    await isOffered();
    await page.reload();
    await choose("clerk");
    await isRefused();
    await rm(folder, { recursive: true });
    expect(complaints).toEqual([]);
  });
});
