/**
 * Looks elsewhere, by visible text and roles: work goes on when its section is left and is shown once, what was typed is
 * there again, an address that is none leads somewhere, and a part that was not reached is loaded later.
 */
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import english from "../../src/app/page/texts.en.json" with { type: "json" };
import { complaintsOf, launchChromium } from "./support/chromium.ts";
import { type PageSite, servePage } from "./support/page_site.ts";

const clerkModel = fileURLToPath(new URL("../../examples/lessons/clerk/model", import.meta.url));

let site: PageSite;
let browser: Browser;
let context: BrowserContext;
let complaints: string[];
let page: Page;

beforeAll(async () => {
  [site, browser] = await Promise.all([servePage(), launchChromium()]);
  context = await browser.newContext({ locale: "en-US" });
  complaints = complaintsOf(context);
  page = await context.newPage();
  await page.addInitScript(holdMessages);
  await page.goto(site.url);
  await button("Start").waitFor();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

/** Has the page's messages to its workers wait while `window.held` is a list. */
function holdMessages(): void {
  const global = globalThis as { held?: (() => void)[] | null };
  const real = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (this: Worker, ...args: unknown[]) {
    const send = (): void => Reflect.apply(real, this, args);
    if (global.held) global.held.push(send);
    else send();
  } as typeof real;
}
const hold = (): Promise<void> =>
  page.evaluate(() => {
    Object.assign(globalThis, { held: [] });
  });
const letGo = (): Promise<void> =>
  page.evaluate(() => {
    const { held = [] } = globalThis as { held?: (() => void)[] };
    Object.assign(globalThis, { held: null });
    for (const send of held) send();
  });

const button = (name: string): Locator => page.getByRole("button", { name, exact: true });
const go = (name: string): Promise<void> => page.getByRole("link", { name, exact: true }).click();
const headings = (): Promise<string[]> => page.getByRole("heading", { level: 1 }).allTextContents();

it("goes on importing when its section is left, and shows it once", async () => {
  await go("Model");
  await page.getByRole("heading", { level: 1, name: english["model.title"] }).waitFor();
  await hold();
  await page.getByLabel("Choose a folder").setInputFiles(clerkModel);
  const note = page.getByRole("status");
  await note.filter({ hasText: /\S/ }).waitFor();
  await go("Run");
  await button("Start").waitFor();
  await letGo();
  await go("Model");
  await note.filter({ hasText: "The model is here" }).waitFor();
  expect(await headings()).toEqual([english["model.title"]]);
  expect(await page.getByLabel("Choose a folder").count()).toBe(1);
  await go("Run");
  await button("Start").waitFor();
  expect(await headings()).toEqual([english["run.title"]]);
});

it("keeps what was typed for each experiment", async () => {
  const experiment = page.getByRole("combobox", { name: /^Experiment/ });
  const updates = page.getByRole("spinbutton", { name: "Updates" });
  const overrides = page.getByRole("textbox", { name: "Overrides as JSON" });
  const reward = page.getByRole("textbox", { name: "Reward function" });
  const own = page.getByRole("radio", { name: "My own function" });
  const filled = async () => [
    await updates.inputValue(),
    await overrides.inputValue(),
    (await own.isChecked()) && (await reward.inputValue()),
  ];
  await experiment.selectOption("calc");
  await page.getByText("Every setting").click();
  await updates.fill("7");
  await overrides.fill('{"seed": 3}');
  await own.check();
  await reward.fill("() => 0.5");
  const typed = ["7", '{"seed": 3}', "() => 0.5"];
  await page.getByRole("radio", { name: english["run.rewardConfigured"] }).check();
  await reward.waitFor({ state: "detached" });
  await own.check();
  expect(await filled()).toEqual(typed);
  await experiment.selectOption("clerk");
  await expect.poll(() => updates.inputValue()).not.toBe("7");
  await updates.fill("9");
  await experiment.selectOption("calc");
  await expect.poll(() => updates.inputValue()).toBe("7");
  expect(await filled()).toEqual(typed);
  await go("Model");
  await page.getByRole("heading", { level: 1, name: english["model.title"] }).waitFor();
  await go("Run");
  await button("Start").waitFor();
  expect(await experiment.inputValue()).toBe("calc");
  expect(await filled()).toEqual(typed);
  await experiment.selectOption("clerk");
  await expect.poll(() => updates.inputValue()).toBe("9");
});

it("keeps an answer that was not given yet over another language", async () => {
  await page.evaluate(() => {
    location.hash = "#lesson/01-policy";
  });
  const number = page.locator("input.ls-number[inputmode=decimal]").first();
  const chosen = page.getByRole("article").getByRole("radio").nth(1);
  await number.fill("12");
  await chosen.check();
  await page.getByRole("combobox", { name: english.language }).selectOption("ko");
  await page.getByRole("link", { name: "전체 수업" }).waitFor();
  expect(await number.inputValue()).toBe("12");
  expect(await chosen.isChecked()).toBe(true);
  await page.locator("select", { has: page.locator("option[value=ko]") }).selectOption("en");
  await page.getByRole("link", { name: "All lessons" }).waitFor();
  expect(await number.inputValue()).toBe("12");
});

it("shows the lessons for an address that cannot be read", async () => {
  await page.evaluate(() => {
    location.hash = "#lesson/%";
  });
  await page.getByRole("heading", { level: 1 }).filter({ hasNotText: /^1\./ }).waitFor();
  expect(complaints).toEqual([]);
});

it("loads a part that was not reached as soon as it can be", async () => {
  const fresh = await browser.newContext({ locale: "en-US" });
  complaintsOf(fresh);
  const errors: string[] = [];
  fresh.on("weberror", (error) => errors.push(String(error.error())));
  page = await fresh.newPage();
  await page.goto(site.url);
  await button("Start").waitFor();
  await fresh.setOffline(true);
  await go("Studio");
  const notice = page.getByRole("alert");
  await notice.getByText(english["fault.studio"]).waitFor();
  // Whether the try that this begins has failed by then or not.
  await notice.getByRole("button", { name: english.retry }).click();
  await fresh.setOffline(false);
  await page.locator(".st-studio").getByRole("heading").first().waitFor();
  expect(await notice.count()).toBe(0);
  expect(errors).toEqual([]);
  await fresh.close();
});
