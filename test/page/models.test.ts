/**
 * Models on their way into the page and out of it, by visible text and roles: a Hugging Face folder is dropped from the
 * desktop or chosen, trains and comes back as a checkpoint, which another browser takes and goes on from; what cannot be
 * used is refused by name.
 */
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
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

/** Drags something from the desktop over a part of the page and lets it go there. */
async function drop(target: Locator, path: string): Promise<void> {
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
    // A model alone is nothing to export: the way there is closed, not open to a refusal.
    expect(await page.getByRole("button", { name: "Export the checkpoint" }).isDisabled()).toBe(true);
  });
});
