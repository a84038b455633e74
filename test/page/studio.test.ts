/**
 * The studio in Chromium, on a real gateway with a SQLite store of 10,000 rollouts. Plan: opening the table, scrolling and
 * filtering without long tasks; a rollout of 200 calls; hostile text stays text everywhere, in reports too; forks, other
 * rewards, colours, copying; keys alone; nothing from elsewhere.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { groupSize, hostile, hostileRollout, longRollout } from "./support/recorded_run.ts";
import { StudioBrowser } from "./support/studio_browser.ts";
import { type StudioSite, serveStudio } from "./support/studio_site.ts";

const groups = 1250;

let site: StudioSite;
let browser: StudioBrowser;
const folder = mkdtempSync(join(tmpdir(), "leyden-report-"));

beforeAll(async () => {
  site = await serveStudio(groups);
  browser = await StudioBrowser.launch(site.url);
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
  rmSync(folder, { recursive: true });
});

const open = (hash: string): Promise<Page> => browser.open(hash);

/** Longest task of what runs in the page, in milliseconds of its thread's own time. */
const longestTask = async (page: Page, pass: () => Promise<void>): Promise<number> =>
  Math.round((await browser.threadTime(page, pass)).longest);

/**
 * Milliseconds that a part of the page takes to open. Where others keep the machine busy, the time by the clock is mostly
 * theirs: then it is what page and server, which is this process, computed for it, one after the other.
 */
async function openingMs(page: Page, open: () => Promise<number>): Promise<number> {
  const before = process.cpuUsage();
  let wall = 0;
  const { total } = await browser.threadTime(page, async () => {
    wall = await open();
  });
  const { user, system } = process.cpuUsage(before);
  const worked = total + (user + system) / 1000;
  const isBusy = (loadavg()[0] ?? 0) > availableParallelism();
  console.log(`opened after ${wall.toFixed(0)} ms by the clock, ${worked.toFixed(0)} ms of work`);
  return isBusy ? Math.min(wall, worked) : wall;
}

const harmed = (page: Page): Promise<unknown> =>
  page.evaluate(() => (globalThis as unknown as { harmed?: string }).harmed ?? null);
const row = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });

describe("ten thousand rollouts", () => {
  it("open as a table in under a second, and scroll and filter without tasks over 100 ms", async () => {
    const page = await open("#/");
    await page.getByRole("figure").first().waitFor();
    const opened = await openingMs(page, () =>
      page.evaluate(async () => {
        const start = performance.now();
        location.hash = "#/rollouts";
        while (document.querySelectorAll("[role=row] a").length < 20) await new Promise(requestAnimationFrame);
        return performance.now() - start;
      }),
    );
    await page.getByText("10,002 in all").waitFor();
    const grid = page.getByRole("grid");
    expect(await grid.getAttribute("aria-rowcount")).toBe("10003");
    expect(await page.getByRole("row").count()).toBeLessThan(80);
    // What is measured runs in the page alone: looking for elements from outside is work of the page's thread too.
    const scrolling = await longestTask(page, () =>
      page.evaluate(async () => {
        const grid = document.querySelector("[role=grid]") as HTMLElement;
        for (let i = 1; i <= 60; i++) {
          grid.scrollTo({ top: i * 5300 });
          await new Promise(requestAnimationFrame);
        }
        grid.scrollTo({ top: grid.scrollHeight });
        while (!grid.textContent?.includes("g000000-s0")) await new Promise(requestAnimationFrame);
      }),
    );
    const filtering = await longestTask(page, () =>
      page.evaluate(async () => {
        const until = async (text: string): Promise<void> => {
          while (document.querySelector(".st-count")?.textContent !== text) await new Promise(requestAnimationFrame);
        };
        const [search, , , rewardMin] = document.querySelectorAll<HTMLInputElement>(".st-filters input");
        const type = (field: HTMLInputElement | undefined, text: string): void => {
          if (field === undefined) throw new Error("A field of the filters is missing.");
          field.value = text;
          field.dispatchEvent(new Event("input", { bubbles: true }));
        };
        type(search, "g0011");
        await until("800 in all");
        type(rewardMin, "2");
        await until("0 in all");
        (document.querySelector(".st-filters button") as HTMLButtonElement).click();
        await until("10,002 in all");
      }),
    );
    const known = await longestTask(page, () =>
      page.evaluate(() => {
        const start = performance.now();
        while (performance.now() - start < 500);
      }),
    );
    // A task that is too long does show.
    expect(known).toBeGreaterThan(100);
    console.log(
      `10,002 rollouts: table after ${opened.toFixed(0)} ms; longest task scrolling ${scrolling} ms, filtering ${filtering} ms`,
    );
    expect(opened).toBeLessThan(1000);
    expect(scrolling).toBeLessThan(100);
    expect(filtering).toBeLessThan(100);
    await page.context().close();
  });

  it("filter by update, agent, reward and breaks, sorted by any column, in the address too", async () => {
    const page = await open("#/rollouts?update=3&sort=reward&order=desc");
    await page.getByText(`${10 * groupSize} in all`).waitFor();
    await page.getByRole("columnheader", { name: "Reward" }).and(page.locator("[aria-sort=descending]")).waitFor();
    await page.getByLabel("Model").selectOption("planner");
    await page.getByText(`${groupSize} in all`, { exact: true }).waitFor();
    expect(page.url()).toContain("agent=planner");
    await page.getByRole("button", { name: "Reward" }).click();
    await page.locator("[aria-sort=ascending]").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText("10,002 in all").waitFor();
    await page.context().close();
  });

  it("show one of 200 calls in under a second", async () => {
    const page = await open("#/");
    await page.getByRole("figure").first().waitFor();
    const opened = await openingMs(page, () =>
      page.evaluate(async (id) => {
        const start = performance.now();
        location.hash = `#/rollouts/${id}`;
        while (document.querySelectorAll(".st-tokens .st-token").length < 40) await new Promise(requestAnimationFrame);
        return performance.now() - start;
      }, longRollout),
    );
    expect(opened).toBeLessThan(1000);
    expect(await page.getByRole("navigation", { name: "Calls of this rollout" }).getByRole("listitem").count()).toBe(
      200,
    );
    await page.goto(`${site.url}/studio/?k=admin#/rollouts/${longRollout}/${longRollout}-199`);
    await page.getByRole("button", { name: /show the \d+ shared tokens/ }).click();
    await page.getByRole("region", { name: "Prompt tokens" }).getByText("Work", { exact: true }).first().waitFor();
    await page.context().close();
  });
});

describe("hostile text", () => {
  it("stays text in every view and in a report, and what is copied is what was sent", async () => {
    const page = await open("#/rollouts?text=onerror");
    await row(page, hostileRollout).waitFor();
    await page.goto(`${site.url}/studio/?k=admin#/rollouts/${hostileRollout}`);
    await page.getByRole("heading", { name: hostileRollout }).waitFor();
    await page.locator(".st-token").first().waitFor();
    await page.evaluate(() => {
      for (const details of document.querySelectorAll("details")) details.open = true;
    });
    await page.locator(".st-message pre").first().waitFor();
    const reply = page.getByRole("region", { name: "Reply tokens" }).locator("pre");
    expect(await reply.textContent()).toBe(`${hostile}<|end|>`);
    const selected = await reply.evaluate((element) => {
      getSelection()?.selectAllChildren(element);
      return getSelection()?.toString();
    });
    expect(selected).toBe(`${hostile}<|end|>`);
    await page.getByLabel("messages").check();
    expect(await page.locator("textarea").first().inputValue()).toBe(hostile);
    await page.goto(`${site.url}/studio/?k=admin#/groups/hostile`);
    await page.getByRole("heading", { name: "Group hostile" }).waitFor();
    expect(await harmed(page)).toBeNull();
    expect(await page.locator("main script, main img, main svg[onload], main iframe").count()).toBe(0);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save report" }).click();
    const path = join(folder, "report.html");
    await (await download).saveAs(path);
    expect(readFileSync(path, "utf8").match(/<\/script/g)).toHaveLength(2);
    await page.goto(`file://${path}#/rollouts/${hostileRollout}`);
    await page.getByRole("heading", { name: hostileRollout }).waitFor();
    expect(await page.getByRole("region", { name: "Reply tokens" }).locator("pre").textContent()).toBe(
      `${hostile}<|end|>`,
    );
    expect(await harmed(page)).toBeNull();
    await page.goto(`file://${path}#/`);
    await page.getByRole("img", { name: /^Reward/ }).waitFor();
    await page.context().close();
  });
});

describe("a rollout", () => {
  it("is read call by call, coloured by what is known, token by token with keys", async () => {
    const page = await open("#/rollouts/g000040-s0");
    const reply = page.getByRole("region", { name: "Reply tokens" });
    await reply.locator(".st-token").first().waitFor();
    for (const coloring of ["advantage", "version", "entropy", "log-probability"]) {
      await page.getByRole("radiogroup", { name: "Colour tokens by" }).getByLabel(coloring).check({ force: true });
      await page.getByRole("img", { name: `Scale: ${coloring}` }).waitFor();
    }
    const prompt = page.getByRole("region", { name: "Prompt tokens" }).locator("pre");
    const copied = await prompt.evaluate((element) => {
      getSelection()?.selectAllChildren(element);
      return getSelection()?.toString();
    });
    // A browser takes no line end along that nothing follows.
    expect(copied).toBe((await prompt.textContent())?.replace(/\n$/, ""));
    expect(copied).toContain("<|system|>\nYou are a careful assistant");
    await page.evaluate(() => getSelection()?.empty());
    await reply.locator("pre").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.getByText(/token 2 of \d+ · id \d+ · log-probability −/).waitFor();
    await page.getByRole("navigation", { name: "Calls of this rollout" }).locator("[aria-current=true]").focus();
    await page.keyboard.press("ArrowDown");
    await page.getByRole("heading", { name: /^Call 2/ }).waitFor();
    expect(page.url()).toContain("g000040-s0-2");
    await page.context().close();
  });

  it("is asked again from a token, with another text, and keeps what came", async () => {
    const page = await open("#/rollouts/g000040-s0");
    const reply = page.getByRole("region", { name: "Reply tokens" });
    await reply.locator(".st-token").nth(2).click();
    await page.getByRole("button", { name: "Go on from here" }).click();
    await page.getByLabel("Text to put after them").fill(" nothing at all");
    site.reply = "and that is that";
    await page.getByRole("button", { name: "Sample" }).click();
    const made = page.getByRole("region", { name: "Sampled tokens" });
    await made.locator(".st-token").first().waitFor();
    expect(await made.locator("pre").textContent()).toBe("and that is that<|end|>");
    await page.locator(".st-changed").filter({ hasText: "nothing at all" }).waitFor();
    await page.reload();
    await page.getByRole("region", { name: "Sampled tokens" }).waitFor();
    await page.context().close();
  });

  it("earns something else, and its group is advanced again beside what was recorded", async () => {
    const page = await open("#/groups/g000040");
    const field = page.getByLabel("Another reward for g000040-s2");
    await field.fill("1");
    await page.getByRole("row").filter({ has: field }).getByRole("button", { name: "Advance again" }).click();
    await page.getByRole("columnheader", { name: "With the change" }).waitFor();
    await page.getByText(/Mean reward .* → .*\. The record stays as it is/).waitFor();
    await page.getByRole("button", { name: "undo" }).click();
    await page.getByRole("columnheader", { name: "With the change" }).waitFor({ state: "detached" });
    await page.context().close();
  });
});

describe("by keys alone", () => {
  it("goes from view to view, through the table and into a rollout, and lists its shortcuts", async () => {
    const page = await open("#/");
    await page.getByRole("figure").first().waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Overview");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("2");
    await page.getByText("10,002 in all").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("g000123");
    await page.getByText("8 in all", { exact: true }).waitFor();
    await page.locator("[role=row][tabindex='0']").focus();
    await page.keyboard.press("End");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-rowindex"))).toBe("9");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "g000123-s1", exact: true }).waitFor();
    await page.context().close();
  });
});

it("asks nobody else, and says nothing in the console", () => {
  expect(browser.foreign).toEqual([]);
  expect(browser.problems).toEqual([]);
});
