/**
 * Models and runs on their way into the page and out of it, by visible text and roles: a Hugging Face folder is dropped
 * from the desktop or chosen, trains and comes back as a checkpoint, which another browser takes and goes on from; a run
 * of the command line goes on in the page, and back there; what is kept is listed and deleted; what cannot be used is
 * refused by name.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unzipSync } from "fflate";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { complaintsOf, launchChromium } from "./support/chromium.ts";
import { type PageSite, servePage } from "./support/page_site.ts";
import { type AskedRun, finished, rewardsOf, runMs, startRun, takeCheckpoint } from "./support/run_actions.ts";

const clerkModel = fileURLToPath(new URL("../../examples/lessons/clerk/model", import.meta.url));
const small = { "train.tasksPerUpdate": 2, "train.groupSize": 4 };
const asked: AskedRun = { experiment: "clerk", updates: 1, overrides: small };

let site: PageSite;
let browser: Browser;
let folder = "";
let context: BrowserContext;
let complaints: string[];
let page: Page;

beforeAll(async () => {
  [site, browser] = await Promise.all([servePage(), launchChromium()]);
  folder = await mkdtemp(join(tmpdir(), "leyden-models-"));
  await cp(clerkModel, join(folder, "my clerk"), { recursive: true });
  await mkdir(join(folder, "no_model"));
  await cp(join(clerkModel, "config.json"), join(folder, "no_model", "config.json"));
  await writeFile(join(folder, "no.zip"), "not a zip");
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  context = await browser.newContext({ locale: "en-US" });
  complaints = complaintsOf(context);
  page = await context.newPage();
  await page.goto(`${site.url}#model`);
});
afterEach(async () => {
  await context.close();
  expect(complaints).toEqual([]);
});

/** Text of the part that has the focus. */
const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? "");

/** Drags something from the desktop over a part of the page and lets it go there. */
async function drop(target: Locator, path: string): Promise<void> {
  await target.scrollIntoViewIfNeeded();
  const box = await target.boundingBox();
  if (box === null) throw new Error("There is nothing to drop on.");
  const session = await context.newCDPSession(page);
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  const place = { x: box.x + box.width / 2, y: box.y + box.height / 2, data };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await session.send("Input.dispatchDragEvent", { type, ...place });
  }
}

const dropArea = (): Locator => page.getByRole("region", { name: /^Drop a Hugging Face folder here/ });
const note = (): Locator => page.getByRole("status");

describe("the export of a checkpoint", () => {
  const button = (): Locator => page.getByRole("button", { name: "Export the checkpoint" });

  /** What a screen reader says of the button besides its name. */
  async function reason(): Promise<string> {
    const id = (await button().getAttribute("aria-describedby")) ?? "";
    return id === "" ? "" : ((await page.locator(`#${id}`).textContent()) ?? "");
  }

  it("is offered once an update has made one, and says before why not", async () => {
    expect(await reason()).toMatch(/^There is nothing to export: the run that is shown has no checkpoint/);
    expect(await button().isDisabled()).toBe(true);
    await page.getByRole("link", { name: "Run", exact: true }).click();
    await startRun(page, { ...asked, button: "Open, and wait" });
    await page.getByRole("status").filter({ hasText: "Paused" }).waitFor({ timeout: runMs });
    await page.getByRole("link", { name: "Model", exact: true }).click();
    await expect.poll(reason).toMatch(/^There is nothing to export/);
    // A run that waits to go on is not deleted by the way.
    const deletion = page.getByRole("button", { name: "Delete A clerk with an adding machine" });
    await deletion.waitFor();
    expect(await deletion.isDisabled()).toBe(true);
    await page.getByText("A run uses this now: stop it, then it can be deleted.").waitFor();
    await page.getByRole("link", { name: "Run", exact: true }).click();
    await page.getByRole("button", { name: "One update" }).click();
    await page.getByRole("link", { name: "Model", exact: true }).click();
    await expect.poll(() => button().isEnabled(), { timeout: runMs }).toBe(true);
    expect(await reason()).toBe("");
  });
});

describe("a model folder", () => {
  it("is dropped, trains, and comes back as a checkpoint that another browser goes on from", async () => {
    await drop(dropArea(), join(folder, "my clerk"));
    await note().filter({ hasText: "is here" }).waitFor();
    const said = (await note().textContent()) ?? "";
    expect(said).toContain(`${(await readdir(clerkModel)).length} files`);
    const kept = /"model\.path": "([^"]+)"/.exec(said)?.[1];
    expect(kept).toBe("/models/my%20clerk");
    await page.getByRole("link", { name: "Run", exact: true }).click();
    await startRun(page, { ...asked, overrides: { ...small, "model.path": kept } });
    await finished(page);
    const { name, zip } = await takeCheckpoint(page);
    expect(name).toBe("clerk_step_1.zip");
    const files = Object.keys(unzipSync(zip));
    expect(files).toEqual(expect.arrayContaining(["config.json", "tokenizer.json", "model.safetensors", "state.json"]));
    expect(complaints).toEqual([]);
    await context.close();

    context = await browser.newContext({ locale: "en-US" });
    complaints = complaintsOf(context);
    page = await context.newPage();
    await page.goto(`${site.url}#model`);
    await page.getByLabel("Import a checkpoint").setInputFiles({ name, mimeType: "application/zip", buffer: zip });
    await note().filter({ hasText: "Done" }).waitFor();
    await page.getByRole("link", { name: "Run", exact: true }).click();
    await page.getByRole("status").filter({ hasText: "Finished" }).waitFor();
    await startRun(page, { ...asked, updates: 2, button: "Continue the last run" });
    await rewardsOf(page, 1);
    await finished(page);
    expect((await takeCheckpoint(page)).name).toBe("clerk_step_2.zip");
    // A kept run gives way to a yes alone.
    for (const [answer, left] of [
      ["Do not import it", "clerk_step_2.zip"],
      ["Delete the kept run and import this one", "clerk_step_1.zip"],
    ] as const) {
      await page.getByLabel("Import a checkpoint").setInputFiles({ name, mimeType: "application/zip", buffer: zip });
      const doubt = page.getByRole("alertdialog", { name: /import the checkpoint after update 1\?$/ });
      await doubt.getByRole("button", { name: answer }).click();
      await doubt.waitFor({ state: "detached" });
      await expect.poll(async () => (await takeCheckpoint(page)).name, { timeout: 30_000 }).toBe(left);
    }
  });

  it("is chosen with a button, and refused by name when it is none", async () => {
    await page.getByLabel("Choose a folder").setInputFiles(join(folder, "my clerk"));
    await note().filter({ hasText: "/models/my%20clerk" }).waitFor();
    await drop(dropArea(), join(folder, "no_model"));
    const refused = page.getByRole("alert");
    await refused.waitFor();
    expect(await refused.textContent()).toContain("The folder no_model lacks tokenizer.json, *.safetensors.");
    await page.getByLabel("Import a checkpoint").setInputFiles(join(folder, "no.zip"));
    await refused.filter({ hasText: "no zip archive" }).waitFor();
    // One that is kept already gives way to a yes alone.
    for (const [answer, said] of [
      ["Do not import it", /^$/],
      ["Replace it", /\/models\/my%20clerk/],
    ] as const) {
      await page.getByLabel("Choose a folder").setInputFiles(join(folder, "my clerk"));
      const doubt = page.getByRole("alertdialog", { name: "Replace the model “my clerk”?" });
      await doubt.getByRole("button", { name: answer }).click();
      await doubt.waitFor({ state: "detached" });
      await expect.poll(() => note().textContent()).toMatch(said);
    }
    // A model alone is nothing to export: the way there is closed, not open to a refusal.
    expect(await page.getByRole("button", { name: "Export the checkpoint" }).isDisabled()).toBe(true);
  });

  it("is listed with its path after a reload too, and is deleted for good", async () => {
    await page.getByLabel("Choose a folder").setInputFiles(join(folder, "my clerk"));
    await note().filter({ hasText: "is here" }).waitFor();
    await page.reload();
    const row = page.getByRole("row").filter({ hasText: "my clerk" });
    await row
      .filter({ hasText: "/models/my%20clerk" })
      .filter({ hasText: /\d (kB|MB)/ })
      .waitFor();
    await row.getByRole("button", { name: "Delete my clerk" }).click();
    await row.getByText(/^Delete my clerk, [\d.]+ (kB|MB)\? This cannot be undone\.$/).waitFor();
    // The browser tells of the closing in a later task, and a key may come before it: the question it asks for is not lost.
    await row.getByRole("button", { name: "Keep it" }).evaluate(async (button: HTMLElement) => {
      button.click();
      for (let microtask = 0; microtask < 100; microtask++) await null;
      if (document.activeElement instanceof HTMLElement) document.activeElement.click();
    });
    await row.getByRole("button", { name: "Keep it" }).click();
    await expect.poll(focused).toBe("Delete");
    await page.keyboard.press("Enter");
    await row.getByRole("button", { name: "Delete for good" }).click();
    await note().filter({ hasText: "my clerk is deleted." }).waitFor();
    await page.getByText("No model was imported.").waitFor();
    const left = page.evaluate(async () => {
      const models = await (await navigator.storage.getDirectory()).getDirectoryHandle("models");
      return Array.fromAsync(models.keys());
    });
    expect(await left).toEqual([]);
  });
});

describe("a run of the command line", () => {
  const clerk = "examples/lessons/clerk";

  /** Trains in a process of its own to `updates` updates. */
  async function train(out: string, updates: number, ...flags: string[]): Promise<string> {
    const set = Object.entries(small).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
    const args = ["src/cli/main.ts", "train", clerk, "--out", out, "--updates", String(updates), ...set, ...flags];
    const { stderr } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 });
    return stderr;
  }

  /** Steps of a run's metrics, as they stand in its folder. */
  async function stepsOf(run: string): Promise<number[]> {
    const lines = (await readFile(join(run, "metrics.jsonl"), "utf8")).trim().split("\n");
    return lines.map((line) => (JSON.parse(line) as { step: number }).step);
  }

  it("is brought in, goes on in the page, and goes on from there in the command line", async () => {
    const [mine, back] = [join(folder, "mine"), join(folder, "back")];
    await train(mine, 1);
    await drop(page.getByRole("region", { name: /^Drop the folder of a run here/ }), mine);
    await page.getByText("mine is a run with 1 of 1 updates finished.").waitFor();
    const experiment = page.getByRole("combobox", { name: "It goes on as a run of" });
    expect(await experiment.inputValue()).toBe("clerk");
    await page.getByRole("button", { name: "Import it", exact: true }).click();
    await note().filter({ hasText: "“A clerk with an adding machine” is here, with 1 updates finished" }).waitFor();
    await page.getByRole("row").filter({ hasText: "1 of 1" }).waitFor();

    await page.getByRole("link", { name: "Run", exact: true }).click();
    await startRun(page, { experiment: "clerk", updates: 2, button: "Continue the last run" });
    await rewardsOf(page, 2);
    await finished(page);
    await page.getByRole("link", { name: "Model", exact: true }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export the run" }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe("clerk_run.zip");
    for (const [path, bytes] of Object.entries(unzipSync(await readFile(await file.path())))) {
      await mkdir(dirname(join(back, path)), { recursive: true });
      await writeFile(join(back, path), bytes);
    }
    expect(await stepsOf(back)).toEqual([1, 2]);
    const again = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export A clerk with an adding machine" }).click();
    expect((await again).suggestedFilename()).toBe("clerk_run.zip");
    expect(await train(back, 3, "--resume")).toContain("Resuming after update 2");
    expect(await stepsOf(back)).toEqual([1, 2, 3]);

    // As a zip it would take the place of the run that is kept, which is said; and that one can be deleted.
    const buffer = await readFile(await file.path());
    await page.getByLabel("Import a run").setInputFiles({ name: "again.zip", mimeType: "application/zip", buffer });
    await page.getByText("again is a run with 2 of 2 updates finished.").waitFor();
    const warning = "A run of this experiment is kept here, and is deleted for it.";
    await page.getByRole("status").filter({ hasText: warning }).waitFor();
    await page.getByRole("button", { name: "Do not import it" }).click();
    await expect.poll(focused).toBe("Move a whole run");
    await page.getByRole("button", { name: "Delete A clerk with an adding machine" }).click();
    await page.getByRole("button", { name: "Delete for good" }).click();
    await page.getByText("No run is kept.").waitFor();
    await page.getByRole("link", { name: "Run", exact: true }).click();
    await page.getByRole("combobox", { name: /^Experiment/ }).selectOption("clerk");
    await expect.poll(() => page.getByRole("button", { name: "Continue the last run" }).isDisabled()).toBe(true);
  });
});
