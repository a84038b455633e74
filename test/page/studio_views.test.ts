/**
 * Every view of the studio, light and dark, in English and Korean: it shows what was recorded, nothing is refused, nothing
 * scrolls sideways, nothing is asked of others. Screenshots of all of them go to the folder that LEYDEN_SCREENSHOTS names.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Say, textsOf } from "../../gateway/studio/client/texts.ts";
import type { StudioRollout } from "../../src/schema/studio_api.ts";
import { groupsPerUpdate, hostileRollout, longRollout } from "./support/recorded_run.ts";
import { StudioBrowser } from "./support/studio_browser.ts";
import { type StudioSite, serveStudio } from "./support/studio_site.ts";

const groups = 125;
const updates = Math.floor(groups / groupsPerUpdate);
const screenshots = process.env.LEYDEN_SCREENSHOTS ?? "";
const folder = mkdtempSync(join(tmpdir(), "leyden-views-"));

let site: StudioSite;
let browser: StudioBrowser;
/** A rollout with a call that continues none although others were recorded. */
let broken: StudioRollout;

beforeAll(async () => {
  site = await serveStudio(groups);
  browser = await StudioBrowser.launch(site.url);
  broken = await findBroken();
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
  rmSync(folder, { recursive: true });
});

async function ask<T>(path: string): Promise<T> {
  const response = await fetch(`${site.url}/studio/api/${path}`, { headers: { authorization: "Bearer admin" } });
  return (await response.json()) as T;
}

async function findBroken(): Promise<StudioRollout> {
  for (const { rollout_id: id } of await site.store.rollouts()) {
    const calls = await site.store.calls(id);
    if (calls.length === 3 && calls[2]?.breakReason === "edited") return ask(`rollouts/${id}`);
  }
  throw new Error("No rollout with a break was recorded.");
}

const cells = (row: Locator): Promise<string[]> => row.locator("th, td").allTextContents();

/** The tree draws each node and each reply; the call that broke off says why. */
async function showsTreeAndBreak(page: Page, say: Say): Promise<void> {
  const { tree, calls, line } = broken;
  const counts = { nodes: tree.nodes.length, calls: 3 };
  // What all three calls begin with; the rest of the first and its reply; what the second adds; the third, which broke off.
  expect(tree.nodes.map((node) => node.length)).toEqual([2, 46, 13, 32]);
  const drawn = page.locator("svg").filter({ has: page.locator("title", { hasText: say("tree.label", counts) }) });
  await drawn.waitFor();
  await page.getByText(say("tree.title", counts), { exact: true }).waitFor();
  const tokens = tree.nodes.map((node) => say("tree.node", { n: node.length }));
  expect(await drawn.locator("rect > title").allTextContents()).toEqual(expect.arrayContaining(tokens));
  const replies = drawn.getByRole("link");
  expect(await replies.count()).toBe(calls.length);
  await replies.nth(2).click();
  await page.getByRole("heading", { name: say("call.title", { n: 3 }) }).waitFor();
  expect(page.url()).toContain(`${line.id}-3`);
  await page.getByText(say("break.edited.why"), { exact: false }).waitFor();
  const third = page
    .getByRole("navigation", { name: say("call.list") })
    .getByRole("listitem")
    .nth(2);
  expect(await third.textContent()).toContain(say("break.edited"));
  expect(await third.textContent()).toContain(say("call.root"));
}

/** Both ends and their difference, and the settings that differ with both values. */
async function comparesRuns(page: Page, say: Say): Promise<void> {
  const ends = page.getByRole("table", { name: say("compare.ends") });
  const names = [
    "tile.update",
    "tile.reward",
    "tile.validation",
    "tile.entropy",
    "tile.speed",
    "tile.time",
    "tile.age",
  ];
  const rows = await Promise.all((await ends.locator("tbody tr").all()).map(cells));
  expect(rows.map(([name]) => name)).toEqual(names.map((name) => say(name as Parameters<Say>[0])));
  expect(rows[0]?.slice(1)).toEqual([String(updates), String(updates), "0"]);
  for (const [name, own, other, difference] of rows.map((row) => row.map((text) => text.replace("−", "-")))) {
    const gap = Number(other) - Number(own);
    // Numbers are shown to three digits.
    expect(Math.abs(Number(difference) - gap), name).toBeLessThanOrEqual(0.01 * Math.abs(Number(other)) + 1e-9);
  }
  const differing = page.getByRole("table", { name: say("compare.config", { n: 2 }) });
  const settings = await Promise.all((await differing.locator("tbody tr").all()).map(cells));
  expect(settings).toEqual([
    ["seed", "1", "3"],
    ["train.learningRate", "0.0004", "0.0012"],
  ]);
}

/** A longer window shows more of what the device did, up to all of it. */
async function showsWindows(page: Page, say: Say): Promise<void> {
  const segments = page.getByRole("radiogroup", { name: say("timeline.window") });
  const labels = [...[10, 30, 120, 600].map((n) => say("timeline.seconds", { n })), say("timeline.all")];
  expect(await segments.locator("label").allTextContents()).toEqual(labels);
  expect(await segments.getByLabel(say("timeline.seconds", { n: 30 }), { exact: true }).isChecked()).toBe(true);
  const place = page.getByRole("slider");
  const shares = page.getByRole("table", { name: say("timeline.shares") }).locator("tbody tr");
  const shown: string[] = [];
  for (const [i, label] of labels.entries()) {
    await segments.getByText(label, { exact: true }).click();
    const texts = await cells(shares);
    const percents = texts.map((text) => Number(/(\d+) %/.exec(text)?.[1]));
    expect(Math.abs(percents.reduce((a, b) => a + b, 0) - 100)).toBeLessThanOrEqual(3);
    expect(percents[1], label).toBeGreaterThan(20);
    // What was recorded fits into ten minutes: there is nothing to move to.
    expect(await place.count()).toBe(i < 3 ? 1 : 0);
    shown.push(texts.join());
  }
  expect(new Set(shown.slice(0, 4)).size).toBe(4);
  await segments.getByText(labels[1] ?? "", { exact: true }).click();
}

/** Another text after a token of the reply, and what the policy says to it. */
async function forks(page: Page, say: Say): Promise<void> {
  const reply = page.getByRole("region", { name: say("call.replyLabel") });
  const made = page.getByRole("region", { name: say("fork.reply") });
  await reply.locator(".st-token").nth(2).click();
  const before = await made.count();
  await page.getByRole("button", { name: say("token.branch") }).click();
  await page.getByLabel(say("fork.insert")).fill(" nothing at all");
  await page.getByRole("button", { name: say("fork.sample") }).click();
  await made.nth(before).waitFor();
  await page.getByText(say("fork.title", { n: before + 1 }), { exact: true }).waitFor();
}

/** Another reward, and what the estimator makes of it. */
async function advancesAgain(page: Page, say: Say): Promise<void> {
  const field = page.getByLabel(say("group.newReward", { id: "g000043-s2" }));
  const row = page.getByRole("row").filter({ has: field });
  await field.fill("3");
  await row.getByRole("button", { name: say("group.advance") }).click();
  await page.getByRole("columnheader", { name: say("group.advantageAfter") }).waitFor();
  expect(await field.inputValue()).toBe("3");
  expect(await row.textContent()).toContain("1 → 3");
  expect(await page.locator(".st-reward-after").count()).toBe(1);
}

/** The file of the run, opened from the disk. */
async function opensReport(page: Page, say: Say): Promise<void> {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: say("report.save") }).click();
  const path = join(folder, "report.html");
  await (await download).saveAs(path);
  await page.goto(`file://${path}#/`);
  await page.getByText(say("phase.report"), { exact: true }).first().waitFor();
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(say("nav.skip"));
  await page.keyboard.press("Enter");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("st-content");
  await page.getByRole("img").first().waitFor();
}

interface View {
  readonly hash: string | (() => string);
  /** What is there once the view is; a chart where none is named. */
  readonly text?: string;
  /** What is done and looked at in it before the picture is taken. */
  readonly look?: (page: Page, say: Say) => Promise<void>;
}

const views: Readonly<Record<string, View>> = {
  overview: { hash: "#/" },
  rollouts: { hash: "#/rollouts", text: "g000124-s7" },
  rollout: { hash: "#/rollouts/g000043-s0", text: "g000043-s0-1" },
  broken_rollout: { hash: () => `#/rollouts/${broken.line.id}`, look: showsTreeAndBreak },
  long_rollout: { hash: `#/rollouts/${longRollout}/${longRollout}-12`, text: `${longRollout}-12` },
  hostile_rollout: { hash: `#/rollouts/${hostileRollout}`, text: "hostile-call" },
  fork: { hash: "#/rollouts/g000044-s1", text: "g000044-s1-1", look: forks },
  group: { hash: "#/groups/g000043", text: "pens-43" },
  group_advanced: { hash: "#/groups/g000043", text: "pens-43", look: advancesAgain },
  device: { hash: "#/timeline", look: showsWindows },
  compare: { hash: "#/compare?run=calc-seed-2", text: "train.learningRate", look: comparesRuns },
  report: { hash: "#/", look: opensReport },
};

describe.each([
  ["light", "en"],
  ["dark", "ko"],
] as const)("every view, %s, %s", (scheme, language) => {
  const say = textsOf(language);

  it.each(Object.entries(views))("%s", async (name, { hash, text, look }) => {
    const page = await browser.open(typeof hash === "string" ? hash : hash(), { dark: scheme === "dark", language });
    if (text === undefined) await page.getByRole("img").first().waitFor();
    else await page.getByText(text, { exact: true }).first().waitFor();
    await look?.(page, say);
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

it.each(["en", "ko"] as const)(
  "the table of rollouts stands whole in a window of 1280 pixels, in %s",
  async (language) => {
    // Less a scroll bar of 17 pixels, which this browser does not draw.
    const page = await browser.open("#/rollouts?sort=tokens", { language, width: 1280 - 17 });
    const grid = page.getByRole("grid");
    await grid.getByRole("link").first().waitFor();
    expect(await grid.evaluate((frame) => frame.scrollWidth - frame.clientWidth)).toBe(0);
    const cut = await grid.evaluate((frame) =>
      [...frame.querySelectorAll(".st-row-head > *, .st-row-line > :last-child")]
        .filter((cell) => cell.scrollWidth > cell.clientWidth)
        .map((cell) => cell.textContent),
    );
    expect(cut).toEqual([]);
    await page.getByRole("columnheader", { name: textsOf(language)("column.model"), exact: true }).waitFor();
    await page.context().close();
  },
);

it.each([
  ["nothing", "noRun.served", null],
  ["calls", "overview.served", "overview.rollouts"],
] as const)("a gateway with %s to show says so, and nothing of a failure", async (what, text, link) => {
  const served = await serveStudio(1, what);
  const other = await StudioBrowser.launch(served.url);
  for (const language of ["en", "ko"] as const) {
    const say = textsOf(language);
    const page = await other.open("#/", { language });
    await page.getByRole("heading", { name: say("noRun.title") }).waitFor();
    await page.getByText(say(text), { exact: true }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    if (link !== null) {
      await page.getByRole("link", { name: say(link) }).click();
      await page.getByText(say("rollouts.count", { n: 10 })).waitFor();
    }
  }
  await other.close();
  await served.close();
});

it("asks nobody else, and says nothing in the console", () => {
  expect(browser.foreign).toEqual([]);
  expect(browser.problems).toEqual([]);
});
