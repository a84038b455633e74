/**
 * What people do with a run besides starting it, by visible text and roles alone: a reward of their own, a talk with the
 * model before and after an update, a wait that outlasts a reload, a model that is let go and opened again, a run that is
 * replaced only when somebody says so, too little memory; the page's own words in Korean too.
 */
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import english from "../../src/app/page/texts.en.json" with { type: "json" };
import korean from "../../src/app/page/texts.ko.json" with { type: "json" };
import { complaintsOf, launchChromium } from "./support/chromium.ts";
import { type PageSite, servePage } from "./support/page_site.ts";
import { hostile } from "./support/recorded_run.ts";
import { runMs, stateOf } from "./support/run_actions.ts";

const small = { "train.tasksPerUpdate": 1, "train.groupSize": 4, "eval.every": 0 };

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
  await page.goto(site.url);
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

const button = (name: string): Locator => page.getByRole("button", { name, exact: true });
const message = (): Locator => page.getByRole("textbox", { name: english["chat.message"] });
const log = (): Locator => page.getByRole("log", { name: english["chat.title"] });
const fact = (name: string): Promise<string | null> =>
  page.locator("dl > div").filter({ hasText: name }).first().locator("dd").textContent();

/** Fills the form: the smallest experiment, and values by dotted path. */
async function fill(overrides: object): Promise<void> {
  await page.getByRole("combobox", { name: /^Experiment/ }).selectOption("clerk");
  await page.getByRole("spinbutton", { name: "Updates" }).fill("2");
  const field = page.getByRole("textbox", { name: "Overrides as JSON" });
  if (!(await field.isVisible())) await page.getByText("Every setting").click();
  await field.fill(JSON.stringify(overrides));
}

/** Neither chat nor Stop can be used, and what opens the model again is said. */
async function isClosed(): Promise<void> {
  await stateOf(page, "Finished").waitFor({ timeout: runMs });
  await page.getByText(english["chat.continue"]).waitFor();
  expect([await message().isDisabled(), await button("Stop").isDisabled()]).toEqual([true, true]);
}

// Each goes on where the one before has left the page.
describe("a run in the hands of people", () => {
  it("refuses a reward that is no function, and says why", async () => {
    await fill(small);
    await page.getByRole("radio", { name: "My own function" }).check();
    await page.getByRole("textbox", { name: "Reward function" }).fill("({ message }) => message.");
    await button("Start").click();
    const notice = page.getByRole("alert");
    await notice.getByText(/SyntaxError/).waitFor();
    expect(await notice.textContent()).toContain(english["fault.settings"]);
    await stateOf(page, "Nothing started").waitFor();
  });

  it("opens its model, and takes what is typed for text", async () => {
    await page.getByRole("textbox", { name: "Reward function" }).fill("() => 7");
    await button("Open, and wait").click();
    await stateOf(page, "Paused").waitFor({ timeout: runMs });
    await message().fill(hostile);
    await button("Ask").click();
    await log().getByText(english["chat.base"]).waitFor();
    expect(await log().textContent()).toContain(hostile);
    expect(await page.locator("main img, main script, main svg[onload]").count()).toBe(0);
    expect(await page.evaluate(() => "harmed" in globalThis)).toBe(false);
  });

  it("takes one update by the reward that was written, and its model is asked again", async () => {
    await button("One update").click();
    await expect.poll(() => fact("Updates finished"), { timeout: runMs }).toBe("1 / 2");
    expect(await fact("Reward")).toBe("7.000");
    await button("Ask the present model again").click();
    await log().getByText("Model after update 1").waitFor();
    expect(
      await log()
        .getByText(/^Model (before|after)/)
        .allTextContents(),
    ).toEqual(["Model before training", "Model after update 1"]);
  });

  it("waits after a reload as it waited before", async () => {
    await page.reload();
    await stateOf(page, "Paused").waitFor({ timeout: runMs });
    expect([await fact("Updates finished"), await message().isEnabled()]).toEqual(["1 / 2", true]);
    await page.getByRole("group", { name: "Controls" }).getByRole("button", { name: "Continue", exact: true }).click();
    await stateOf(page, "Finished").waitFor({ timeout: runMs });
    expect(await fact("Updates finished")).toBe("2 / 2");
  });

  it("lets go of its model, and opens it again when it is continued", async () => {
    expect([await message().isEnabled(), await button("Stop").isEnabled()]).toEqual([true, true]);
    await button("Stop").click();
    await isClosed();
    await page.reload();
    await isClosed();
    // The form is at the experiment whose run this is, and shows what that has.
    await expect.poll(() => page.getByRole("spinbutton", { name: "Updates" }).inputValue()).toBe("2");
    expect(await page.getByRole("textbox", { name: "Reward function" }).inputValue()).toBe("() => 7");
    await button("Continue the last run").click();
    await expect.poll(() => message().isEnabled(), { timeout: runMs }).toBe(true);
    await message().fill("17 + 5");
    await button("Ask").click();
    await log().getByText("Model after update 2").waitFor();
  });

  it("is replaced only by a yes, which the keyboard gives too", async () => {
    await fill({ ...small, "model.memoryBytes": 1000 });
    await button("Start").focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("alertdialog", { name: english["run.replaceTitle"] });
    await dialog.waitFor();
    expect(await dialog.textContent()).toContain("A clerk with an adding machine");
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
    await expect.poll(focused).toBe("Keep it");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect([await focused(), await fact("Updates finished")]).toEqual(["Start", "2 / 2"]);
    await stateOf(page, "Finished").waitFor();
    await page.keyboard.press("Enter");
    // Keys are pressed once the question has them.
    await expect.poll(focused).toBe("Keep it");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("Delete it and start");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: english["env.memory"] }).first().waitFor({ timeout: runMs });
    await stateOf(page, "Failed").waitFor();
    expect(await button("Stop").isDisabled()).toBe(true);
    // What could not be opened has replaced nothing.
    expect([await fact("Updates finished"), await button("Continue the last run").isEnabled()]).toEqual([
      "2 / 2",
      true,
    ]);
  });

  it("is spoken of in Korean", async () => {
    await page.getByLabel("Language").selectOption("ko");
    await page.getByRole("heading", { name: korean["env.memory"] }).first().waitFor();
    await page.getByRole("textbox", { name: korean["run.overrides"] }).fill(JSON.stringify(small));
    await page.getByRole("button", { name: korean["run.startPaused"] }).click();
    const dialog = page.getByRole("alertdialog", { name: korean["run.replaceTitle"] });
    await dialog.getByRole("button", { name: korean["run.replaceYes"] }).click();
    await stateOf(page, korean["phase.paused"]).waitFor({ timeout: runMs });
    await message()
      .or(page.getByRole("textbox", { name: korean["chat.message"] }))
      .fill("17 + 5");
    await page.getByRole("button", { name: korean["chat.send"], exact: true }).click();
    await page.getByText(korean["chat.base"]).waitFor();
    await page.getByRole("button", { name: korean["run.stop"], exact: true }).click();
    await page.getByText(korean["chat.continue"]).waitFor();
    await page.getByRole("button", { name: korean["run.start"], exact: true }).click();
    await dialog.getByRole("button", { name: korean["run.replaceNo"] }).click();
    await stateOf(page, korean["phase.stopped"]).waitFor();
    expect(complaints).toEqual([]);
  });
});
