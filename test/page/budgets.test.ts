/**
 * What opening the page and a first update cost in Debian's Chromium on the software adapter, with everything cached that a
 * visit before leaves: until the page can be used, and the smallest lesson's run at its own size, twice over its tiny one.
 * Times are printed; a machine that others use too decides them, so what is asserted of time is the best of three tries.
 * See test/page/build.test.ts for what the first files weigh.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { complaintsOf, launchOptions } from "./support/chromium.ts";
import { type PageSite, servePage } from "./support/page_site.ts";
import { finished, runMs, startRun, stateOf } from "./support/run_actions.ts";

const usableMs = 3_000;
const firstUpdateMs = 30_000;
const tries = 3;

let site: PageSite;
let folder = "";
let context: BrowserContext;
let complaints: string[];
let page: Page;

beforeAll(async () => {
  site = await servePage();
  folder = await mkdtemp(join(tmpdir(), "leyden-budgets-"));
  context = await chromium.launchPersistentContext(folder, launchOptions);
  complaints = complaintsOf(context);
}, 120_000);
afterAll(async () => {
  await context?.close();
  await site?.close();
  await rm(folder, { recursive: true, force: true });
});

afterEach(() => page?.close());

/** Notes the page's long tasks from its beginning on. */
function noteLongTasks(): void {
  const longTasks: number[] = [];
  Object.assign(globalThis, { longTasks });
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longTasks.push(Math.round(duration));
  }).observe({ entryTypes: ["longtask"] });
}

/** Opens the page and waits until it can be used: milliseconds, and its long tasks. */
async function openPage(): Promise<{ ms: number; longTasks: number[] }> {
  await page.addInitScript(noteLongTasks);
  await page.goto(site.url);
  await page.waitForFunction(() => {
    const buttons = [...document.querySelectorAll("button")];
    return buttons.some((button) => button.textContent === "Start" && !button.disabled);
  });
  return await page.evaluate(() => ({
    ms: Math.round(performance.now()),
    longTasks: (globalThis as unknown as { longTasks: number[] }).longTasks,
  }));
}

/** What comes only when a run is started. */
const onDemand = [/^models\/clerk\//, /^agents\/clerk\.js$/, /engine_worker/, /codec_worker/, /agent_worker/];

/** Which of them the site was asked for. */
const demanded = (): RegExp[] => onDemand.filter((wanted) => site.asked.some((path) => wanted.test(path)));

describe("the page with a warm cache", () => {
  it("can be used before a model, an agent, the engine or a lesson is fetched", async () => {
    page = await context.newPage();
    await openPage();
    expect(site.asked).toContain("index.html");
    expect(demanded()).toEqual([]);
    const before = site.asked.length;
    await page.goto(`${site.url}#lesson`);
    await page.getByRole("link", { name: "A policy, a harness, a reward", exact: true }).waitFor();
    expect(site.asked.slice(before).filter((path) => path.endsWith(".js"))).not.toEqual([]);
  });

  it(`can be used within ${usableMs / 1000} s`, async () => {
    const opened: number[] = [];
    while (opened.length < tries && Math.min(...opened) >= usableMs) {
      await page.close();
      page = await context.newPage();
      const { ms, longTasks } = await openPage();
      opened.push(ms);
      const load = (loadavg()[0] ?? 0).toFixed(1);
      console.log(`usable after ${ms} ms, long tasks of [${longTasks.join(", ")}] ms (load ${load})`);
    }
    expect(Math.min(...opened)).toBeLessThan(usableMs);
    expect(complaints).toEqual([]);
  });

  it("has a first update of the smallest lesson within half a minute", { timeout: 4 * runMs }, async () => {
    page = await context.newPage();
    await openPage();
    const tiny = { "train.tasksPerUpdate": 2, "train.groupSize": 4 };
    await startRun(page, { experiment: "clerk", updates: 1, overrides: tiny });
    await finished(page);
    expect(demanded()).toEqual(onDemand);
    const updates: number[] = [];
    while (updates.length < tries && Math.min(...updates) >= firstUpdateMs) {
      await page.close();
      page = await context.newPage();
      await openPage();
      const start = performance.now();
      await startRun(page, { experiment: "clerk", updates: 12, overrides: {} });
      await page.getByText("1 / 12", { exact: true }).waitFor({ timeout: runMs });
      updates.push(Math.round(performance.now() - start));
      await page.getByRole("button", { name: "Stop" }).click();
      await stateOf(page, "Stopped").waitFor();
      const load = (loadavg()[0] ?? 0).toFixed(1);
      console.log(`first update after ${updates.at(-1)} ms (load ${load})`);
    }
    expect(Math.min(...updates)).toBeLessThan(firstUpdateMs);
    expect(complaints).toEqual([]);
  });
});
