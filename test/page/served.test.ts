/**
 * The page as the dashboard of a run on Node: `leyden train` on the software adapter, its printed address opened in
 * Debian's Chromium, steered by visible text and roles alone; then `leyden studio` on the folder that it leaves. The
 * browser may complain of nothing but what is done to it here: a wrong key, and a server that has ended.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violationsOf } from "./support/accessibility.ts";
import { complaintsOf, launchChromium } from "./support/chromium.ts";
import { type LeydenProcess, startLeyden } from "./support/leyden_process.ts";
import { rewardsOf, stateOf } from "./support/run_actions.ts";

const clerk = fileURLToPath(new URL("../../examples/lessons/clerk", import.meta.url));
const small = ["--set", "train.tasksPerUpdate=2", "--set", "train.groupSize=2", "--set", "rollout.concurrency=4"];
/** More than the test lets it take. */
const updates = 500;

let folder = "";
let run = "";
let train: LeydenProcess;
let studio: LeydenProcess;
let browser: Browser;
let context: BrowserContext;
let complaints: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leyden-served-"));
  run = join(folder, "run");
  train = startLeyden("train", clerk, "--out", run, "--updates", String(updates), ...small);
  browser = await launchChromium();
  context = await browser.newContext({ locale: "en-US", colorScheme: "light" });
  complaints = complaintsOf(context);
}, 60_000);

afterAll(async () => {
  await train?.kill();
  await studio?.kill();
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Takes what the browser has complained of: only that, if anything. */
function tookOnly(expected: RegExp): void {
  for (const complaint of complaints.splice(0)) expect(complaint).toMatch(expected);
}

/** Updates that the page says have finished. */
async function updatesOf(page: Page): Promise<number> {
  const shown = await page.locator("dl").filter({ hasText: "Updates finished" }).textContent();
  return Number(new RegExp(`(\\d+) / ${updates}`).exec(shown ?? "")?.[1]);
}

/** The table beside the chart: update and reward of each line. */
async function chartNumbers(page: Page): Promise<[update: number, reward: string][]> {
  const rows = await page
    .getByRole("table")
    .getByRole("row")
    .filter({ hasNot: page.getByRole("columnheader") })
    .all();
  const cells = await Promise.all(rows.map((row) => row.getByRole("cell").allTextContents()));
  return cells.map(([update = "", reward = ""]) => [Number(update), reward]);
}

/** The same from the run's own file. */
function recordedNumbers(): [update: number, reward: string][] {
  const lines = readFileSync(join(run, "metrics.jsonl"), "utf8").trimEnd().split("\n");
  return lines.map((line) => {
    const metrics = JSON.parse(line) as { step: number; "training/reward": number };
    return [metrics.step, metrics["training/reward"].toFixed(3)];
  });
}

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const groundOf = (page: Page): Promise<string> =>
  page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

/** Turns the page dark and back, by hand and against what the system says. */
async function turnsDarkAndBack(page: Page): Promise<void> {
  const colours = page.getByRole("combobox", { name: "Colours" });
  await colours.selectOption("Light");
  const light = await groundOf(page);
  await colours.selectOption("Dark");
  await expect.poll(() => groundOf(page)).not.toBe(light);
  const dark = await groundOf(page);
  await page.reload();
  await expect.poll(() => groundOf(page)).toBe(dark);
  await colours.selectOption("As the system");
  await expect.poll(() => groundOf(page)).toBe(light);
  await page.emulateMedia({ colorScheme: "dark" });
  await expect.poll(() => groundOf(page)).toBe(dark);
  await page.emulateMedia({ colorScheme: "light" });
}

describe("a run on Node", () => {
  let page: Page;

  it("is shown to whoever has its key", async () => {
    const address = await train.studio;
    page = await context.newPage();
    await page.goto(`${address.origin}/studio/`);
    await page.getByRole("heading", { name: "This server's run needs its key" }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.getByLabel("Key").fill("not it");
    await button(page, "Open").click();
    await page.getByRole("alert").filter({ hasText: "The server did not accept this key." }).waitFor();
    tookOnly(/401/);
    await page.getByLabel("Key").fill(address.hash.slice("#key=".length));
    await button(page, "Open").click();
    await page.getByRole("heading", { name: "A run on this server" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "A run on this server" }).waitFor();
    await page.close();
  });

  it("shows its rewards as they come, by the address that the command printed", async () => {
    page = await context.newPage();
    await page.goto((await train.studio).href);
    await rewardsOf(page, 2);
    expect(page.url()).not.toContain("key");
    await page.getByText("Numbers of the chart").click();
    await button(page, "Pause").click();
    await stateOf(page, "Paused").waitFor();
    const shown = await chartNumbers(page);
    expect(shown.length).toBeGreaterThanOrEqual(2);
    expect(shown).toEqual(recordedNumbers());
    expect(await updatesOf(page)).toBe(shown.length);
    expect(await violationsOf(page)).toEqual([]);
  });

  it("waits, takes one update, goes on and stops as it is told", async () => {
    const before = await updatesOf(page);
    await page.waitForTimeout(1_000);
    expect([await updatesOf(page), recordedNumbers().length]).toEqual([before, before]);
    await button(page, "One update").click();
    await page.getByText(`${before + 1} / ${updates}`, { exact: true }).waitFor();
    await stateOf(page, "Paused").waitFor();
    await page.waitForTimeout(500);
    expect(recordedNumbers()).toHaveLength(before + 1);
    await button(page, "Continue").click();
    await stateOf(page, "Training").waitFor();
    await rewardsOf(page, before + 2);
    await turnsDarkAndBack(page);
    expect(complaints).toEqual([]);
    await button(page, "Stop").click();
    await stateOf(page, "Stopped").waitFor();
    const { code, said } = await train.ended;
    const done = recordedNumbers().length;
    expect(said).toMatch(
      new RegExp(`\\nUpdate ${done} is saved in ${run}; pass --resume to go on\\.\\nStopped\\.\\n$`),
    );
    expect(said).not.toContain("error");
    expect(code).toBe(2);
    expect(await updatesOf(page)).toBe(done);
    await page.getByRole("alert").filter({ hasText: "The server of this page does not answer" }).waitFor();
    await page.getByText("“leyden studio FOLDER” shows it").waitFor();
    await page.close();
    tookOnly(/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/);
  });
});

describe("the folder that it leaves", () => {
  it("opens in leyden studio: overview, rollouts, and one of them with its calls", async () => {
    await train.ended;
    studio = startLeyden("studio", run);
    const page = await context.newPage();
    await page.goto((await studio.studio).href);
    await page.getByRole("img", { name: /^Reward/ }).waitFor();
    await page.getByText("recorded", { exact: true }).waitFor();
    await page.getByRole("navigation", { name: "Sections" }).locator("[aria-current=page]").waitFor();
    await page.getByRole("link", { name: "Rollouts" }).click();
    // The last ones were cut off by the stop: they may have no call.
    await page.getByRole("row").filter({ hasText: "succeeded" }).getByRole("link").first().click();
    const reply = page.getByRole("region", { name: "Reply tokens" });
    await reply.locator(".st-token").first().waitFor();
    await page.getByText(/^Ask again/).click();
    await page.getByText(/^Only the record is open here, and no model that could answer\./).waitFor();
    expect(await button(page, "Sample").count()).toBe(0);
    await turnsDarkAndBack(page);
    expect(complaints).toEqual([]);
    await page.close();
    await studio.kill();
    expect((await studio.ended).code).toBe(0);
  });
});
