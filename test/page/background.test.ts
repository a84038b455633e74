// A run in a tab that nobody looks at: it goes on while the page is hidden, stands still while the browser has frozen it
// and loses nothing by it, and the screen stays on while it is at work.
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { complaintsOf } from "./support/chromium.ts";
import { type PageSite, servePage } from "./support/page_site.ts";
import { freeze, hide, launchPlainChromium, type PlainChromium } from "./support/plain_chromium.ts";
import type { ProgramResult, ProgramRun } from "./support/programs_entry.ts";
import { finished, runMs, startRun, stateOf } from "./support/run_actions.ts";
import { serveTab, type TabSite } from "./support/tab_site.ts";

/** Longer than an agent may take; a standstill of which nobody is told is shorter than 5 s. */
const frozenMs = 12_000;
const limits = { "rollout.timeoutSeconds": 10, "rollout.silenceSeconds": 10 };
const small = { "train.tasksPerUpdate": 2, "train.groupSize": 4, "eval.tasks": 8 };

let site: PageSite;
let programs: TabSite;
let browser: PlainChromium;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  [site, browser] = await Promise.all([servePage(), launchPlainChromium()]);
  programs = await serveTab("test/page/support/programs_entry.ts");
  complaints = complaintsOf(browser.context);
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
  await programs?.close();
});
beforeEach(async () => {
  page = await browser.context.newPage();
  await page.addInitScript(() => localStorage.setItem("leyden.language", "en"));
});
afterEach(async () => {
  for (const open of browser.context.pages().slice(1)) await open.close();
});

/** Waits until the studio's table, in front again, says how many rollouts a query finds. */
async function lists(query: string, count: number): Promise<void> {
  await page.bringToFront();
  await page.goto(`${site.url}#/rollouts?${query}`);
  const said = page.getByRole("status").filter({ hasText: "in all" });
  await expect.poll(() => said.textContent(), { timeout: 60_000 }).toBe(`${count} in all`);
}

describe("a page that nobody looks at", () => {
  it("trains while it is hidden", async () => {
    await page.goto(site.url);
    await startRun(page, { experiment: "clerk", updates: 2, overrides: small });
    await hide(page);
    await finished(page);
    expect(await page.evaluate(() => document.visibilityState)).toBe("hidden");
    await lists("state=failed", 0);
    await lists("state=succeeded&mode=train", 16);
    expect(complaints).toEqual([]);
  });

  it("goes on where it was frozen, and says for how long it stood still", { timeout: runMs }, async () => {
    await page.goto(site.url);
    // The machine takes so long that agents are always under way, waiting on a timer of their own.
    const overrides = { ...small, ...limits, "rollout.env": { CLERK_TOOL_MS: "1500" } };
    await startRun(page, { experiment: "clerk", updates: 2, overrides });
    await stateOf(page, "Training").waitFor({ timeout: runMs });
    await hide(page);
    await page.waitForTimeout(1_000);
    await freeze(page, frozenMs);
    await page.bringToFront();
    const line = page.getByText("This page stood still for");
    await line.waitFor();
    const seconds = Number(/for (\d+) s:/.exec((await line.textContent()) ?? "")?.[1]);
    expect(seconds).toBeGreaterThanOrEqual(frozenMs / 1000 - 1);
    expect(seconds).toBeLessThan(frozenMs / 1000 + 10);
    await finished(page);
    await lists("state=failed", 0);
    await lists("state=succeeded&mode=train", 16);
    expect(complaints).toEqual([]);
  });

  it("leaves what it stood still out of the limits that its agents set themselves", async () => {
    await page.goto(programs.url);
    await page.waitForFunction(() => "runProgram" in globalThis);
    await hide(page);
    const source = `
      const begin = Date.now();
      const tell = (what) => console.log(what, Date.now() - begin);
      const cleared = setTimeout(() => tell("never"), 5_000);
      setTimeout(() => tell("timer"), 5_000);
      AbortSignal.timeout(5_000).addEventListener("abort", ({ target }) => tell(target.reason.name));
      setTimeout(() => clearTimeout(cleared), 4_900);`;
    const running = page.evaluate(
      (asked) => (globalThis as unknown as { runProgram(asked: ProgramRun): Promise<ProgramResult> }).runProgram(asked),
      { source },
    );
    await page.waitForTimeout(1_500);
    await freeze(page, 8_000);
    const result = await running;
    expect(result).toMatchObject({ code: 0, signal: null });
    const lines = result.stdout.trim().split("\n");
    expect(lines.map((line) => line.split(" ")[0]).sort()).toEqual(["TimeoutError", "timer"]);
    // At most a second of the eight counts; without that they would be over after some nine.
    for (const line of lines) expect(Number(line.split(" ")[1])).toBeGreaterThan(11_000);
  });

  it("keeps the screen on while a run is at work and somebody looks", async () => {
    // A browser without a screen has no such lock: this one counts what is asked of it.
    await page.addInitScript(() => {
      const held = new Set<EventTarget>();
      const lock = () => {
        const sentinel = new EventTarget();
        const release = async () => {
          if (held.delete(sentinel)) sentinel.dispatchEvent(new Event("release"));
        };
        return Object.assign(sentinel, { release });
      };
      const request = async (kind: string) => {
        if (kind !== "screen" || document.visibilityState !== "visible") throw new DOMException("", "NotAllowedError");
        const sentinel = lock();
        held.add(sentinel);
        return sentinel;
      };
      // As browsers do: nobody holds one for a page that is hidden.
      document.addEventListener("visibilitychange", () => {
        if (document.visibilityState === "hidden")
          for (const sentinel of held) void (sentinel as unknown as { release(): void }).release();
      });
      Object.defineProperty(navigator, "wakeLock", { value: { request } });
      Object.assign(globalThis, { screenLocks: () => held.size });
    });
    const locks = () => page.evaluate(() => (globalThis as unknown as { screenLocks(): number }).screenLocks());
    const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
    await page.goto(site.url);
    await stateOf(page, "Nothing started")
      .or(stateOf(page, /Finished|Stopped/))
      .waitFor();
    expect(await locks()).toBe(0);
    await startRun(page, { experiment: "clerk", updates: 500, overrides: small });
    await stateOf(page, "Training").waitFor({ timeout: runMs });
    await expect.poll(locks, { timeout: 30_000 }).toBe(1);
    await hide(page);
    await expect.poll(locks, { timeout: 30_000 }).toBe(0);
    await page.bringToFront();
    await expect.poll(locks, { timeout: 30_000 }).toBe(1);
    await press("Pause");
    await stateOf(page, "Paused").waitFor();
    await expect.poll(locks, { timeout: 30_000 }).toBe(0);
    await page.getByRole("group", { name: "Controls" }).getByRole("button", { name: "Continue", exact: true }).click();
    await expect.poll(locks, { timeout: 30_000 }).toBe(1);
    await press("Stop");
    await stateOf(page, "Stopped").waitFor();
    await expect.poll(locks, { timeout: 30_000 }).toBe(0);
    expect(complaints).toEqual([]);
  });
});
