/**
 * A run in a tab whose graphics process dies under it, in Debian's Chromium on the software adapter. Chromium gives a page
 * a device again after the first crash, and none after a second one: the run goes on by itself, then ends with what to do,
 * and goes on in a browser that was started again. Its weights are those of a run that nothing happened to.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { complaintsOf, launchChromium, launchOptions } from "./support/chromium.ts";
import { type PageSite, servePage } from "./support/page_site.ts";
import { type AskedRun, finished, rewardsOf, runMs, startRun, stateOf, takeCheckpoint } from "./support/run_actions.ts";

const asked: AskedRun = {
  experiment: "clerk",
  updates: 4,
  overrides: { "train.tasksPerUpdate": 2, "train.groupSize": 4 },
};

let site: PageSite;
let folder = "";

beforeAll(async () => {
  site = await servePage();
  folder = await mkdtemp(join(tmpdir(), "leyden-loss-"));
});
afterAll(async () => {
  await site?.close();
  await rm(folder, { recursive: true, force: true });
});

async function crashGpuProcess(context: BrowserContext): Promise<void> {
  const session = await context.browser()?.newBrowserCDPSession();
  await session?.send("Browser.crashGpuProcess");
}

async function weightsOf(page: Page): Promise<Uint8Array | undefined> {
  const { zip } = await takeCheckpoint(page);
  return unzipSync(zip)["model.safetensors"];
}

async function undisturbed(): Promise<Uint8Array | undefined> {
  const browser = await launchChromium();
  const page = await browser.newPage();
  await page.goto(site.url);
  await startRun(page, asked);
  await finished(page);
  const weights = await weightsOf(page);
  await browser.close();
  return weights;
}

describe("a lost device", () => {
  it("costs a run time and nothing else", { timeout: 2 * runMs }, async () => {
    let context = await chromium.launchPersistentContext(folder, launchOptions);
    const complaints = complaintsOf(context);
    let page = await context.newPage();
    await page.goto(site.url);
    await startRun(page, asked);
    await rewardsOf(page, 1);
    await crashGpuProcess(context);
    await rewardsOf(page, 2);
    await crashGpuProcess(context);
    await stateOf(page, /Failed|Finished/).waitFor({ timeout: runMs });
    expect(await page.getByRole("status").allTextContents()).toEqual(["State: Failed"]);
    const notice = page.getByRole("alert").filter({ hasText: "The graphics device was lost" });
    const said = await notice.textContent();
    expect(said).toContain("continue from the last checkpoint");
    expect(said).toContain("Error code device_lost");
    expect(complaints).toEqual([]);
    await context.close();

    context = await chromium.launchPersistentContext(folder, launchOptions);
    page = await context.newPage();
    await page.goto(site.url);
    await stateOf(page, "Stopped").waitFor();
    await startRun(page, { ...asked, button: "Continue the last run" });
    await finished(page);
    await rewardsOf(page, asked.updates);
    const weights = await weightsOf(page);
    await context.close();
    expect(weights?.length).toBeGreaterThan(100_000);
    expect(Buffer.compare(weights ?? Buffer.of(), (await undisturbed()) ?? Buffer.of())).toBe(0);
  });
});
