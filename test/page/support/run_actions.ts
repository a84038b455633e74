import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

/** A run on a software adapter, others at work beside it. */
export const runMs = 240_000;

const resume = "Continue the last run";

/** What is asked of a run in the page's form. */
export interface AskedRun {
  readonly experiment: string;
  readonly updates: number;
  /** By dotted path; everything else as the experiment says. Absent: as the form has it. */
  readonly overrides?: Readonly<Record<string, unknown>>;
  /** Name of the button; default "Start". */
  readonly button?: "Start" | "Open, and wait" | "Continue the last run";
}

/** Fills the form of the page and starts, by visible text and roles alone; a kept run in its place is let go. */
export async function startRun(page: Page, asked: AskedRun): Promise<void> {
  const { experiment, updates, overrides, button = "Start" } = asked;
  await page.getByRole("combobox", { name: /^Experiment/ }).selectOption(experiment);
  await page.getByRole("spinbutton", { name: "Updates" }).fill(String(updates));
  if (overrides !== undefined) {
    await page.getByText("Every setting").click();
    await page.getByRole("textbox", { name: "Overrides as JSON" }).fill(JSON.stringify(overrides));
  }
  const replaces = button !== resume && (await page.getByRole("button", { name: resume }).isEnabled());
  await page.getByRole("button", { name: button, exact: true }).click();
  // Asked whenever there is a run to continue, and else not.
  if (replaces) await page.getByRole("alertdialog").getByRole("button", { name: "Delete it and start" }).click();
}

/** Waits until the chart shows rewards of so many updates, or more. */
export async function rewardsOf(page: Page, updates: number): Promise<void> {
  const chart = page.getByRole("img", { name: /^Mean reward of the runs of each update/ });
  await chart
    .locator("circle")
    .nth(updates - 1)
    .waitFor({ timeout: runMs });
}

/** The state that the page says its run is in. */
export const stateOf = (page: Page, state: string | RegExp): Locator =>
  page.getByRole("status").filter({ hasText: state });

/** The run ends, and its agents have earned something: a run whose agents all fail has rewards of 0. */
export async function finished(page: Page): Promise<void> {
  await stateOf(page, "Finished").waitFor({ timeout: runMs });
  const shown = await page.locator("dl, table").filter({ hasText: "Tokens per second" }).first().textContent();
  expect(Number(/Reward\s*([\d.]+)/.exec(shown ?? "")?.[1]), shown ?? "").toBeGreaterThan(0);
  expect(Number(/Entropy\s*([\d.]+)/.exec(shown ?? "")?.[1]), shown ?? "").toBeGreaterThan(0);
}

/** Goes to the section of models and takes the run's newest checkpoint: its file's name, and what is in it. */
export async function takeCheckpoint(page: Page): Promise<{ name: string; zip: Buffer }> {
  await page.getByRole("link", { name: "Model", exact: true }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export the checkpoint" }).click();
  const file = await download;
  return { name: file.suggestedFilename(), zip: readFileSync(await file.path()) };
}
