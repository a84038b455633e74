/**
 * The page as people get it, in Debian's Chromium on the software adapter: from a static host, from `leyden serve --lan`
 * over TLS, and as one file from a disk. In each, the calculator experiment is started by visible text and roles alone,
 * and its rewards appear; where the browser stores files, a reload in the middle of a run goes on with it. The checkpoints
 * that the pages give out are one model, which answers in Node as it did in the page. Nothing may be said on the console.
 * Screenshots go to the folder that LEYDEN_SCREENSHOTS names.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { dataset } from "../../examples/calc/tasks.ts";
import { buildSingleFile } from "../../src/app/page_build/build_page.ts";
import { complaintsOf, launchChromium } from "./support/chromium.ts";
import { answersInNode, answersInPage, unpackCheckpoint } from "./support/greedy_answers.ts";
import { type PageSite, servePage } from "./support/page_site.ts";
import { type AskedRun, finished, rewardsOf, startRun, takeCheckpoint } from "./support/run_actions.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const shots = process.env.LEYDEN_SCREENSHOTS ?? "";
/** Small enough for a software adapter; everything else as the experiment says. */
const overrides = { "train.tasksPerUpdate": 2, "train.groupSize": 4, "rollout.concurrency": 8, "eval.tasks": 4 };
const questions = dataset.heldOut.slice(0, 100).map(({ input }) => (input as { question: string }).question);
/** Two software adapters round differently; an answer may turn on the last bit of a score. */
const sameShare = 0.98;

let browser: Browser;
let folder = "";

beforeAll(async () => {
  browser = await launchChromium();
  folder = await mkdtemp(join(tmpdir(), "leyden-page-"));
  if (shots !== "") mkdirSync(shots, { recursive: true });
});
afterAll(async () => {
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

async function screenshot(page: Page, name: string): Promise<void> {
  if (shots !== "") await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

const calc = (updates: number): AskedRun => ({ experiment: "calc", updates, overrides });

/** What the page gives out at the end of a run, by delivery. */
const checkpoints = new Map<string, Uint8Array>();
/** What the model of the folder's page answered in its chat. */
let replies: string[] = [];

/** Takes the run's checkpoint with the page's own button, and keeps it. */
async function keepCheckpoint(page: Page, delivery: string): Promise<void> {
  const { name, zip } = await takeCheckpoint(page);
  expect(name).toMatch(/^calc\S*3\S*\.zip$/);
  checkpoints.set(delivery, zip);
}

describe("the folder on a static host", () => {
  let site: PageSite;
  let context: BrowserContext;
  let complaints: string[];
  beforeAll(async () => {
    site = await servePage();
  });
  beforeEach(async () => {
    context = await browser.newContext({ locale: "en-US" });
    complaints = complaintsOf(context);
  });
  afterEach(() => context?.close());
  afterAll(() => site?.close());

  it("trains, goes on after a reload, and gives out its checkpoint", async () => {
    const page = await context.newPage();
    await page.goto(site.url);
    await startRun(page, calc(3));
    await rewardsOf(page, 1);
    await screenshot(page, "folder-running");
    await page.reload();
    await rewardsOf(page, 3);
    await finished(page);
    await page.getByRole("textbox", { name: "Your message" }).fill(questions[0] ?? "");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByText("Model after update 3").waitFor();
    await screenshot(page, "folder-finished");
    replies = await answersInPage(page, questions.slice(1));
    await keepCheckpoint(page, "folder");
    await screenshot(page, "folder-model");
    expect(complaints).toEqual([]);
  });

  it("lets only one tab of a browser train", async () => {
    const first = await context.newPage();
    await first.goto(site.url);
    await first.getByRole("button", { name: "Start", exact: true }).waitFor();
    const second = await context.newPage();
    await second.goto(site.url);
    await second.getByRole("heading", { name: "Leyden is open in another tab" }).waitFor();
    await screenshot(second, "second-tab");
    await first.close();
    await second.getByRole("button", { name: "Try again" }).click();
    await second.getByRole("button", { name: "Start", exact: true }).waitFor();
    await second.close();
  });

  it("says which browsers have WebGPU where there is none", async () => {
    const page = await context.newPage();
    await page.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, "gpu"));
    await page.goto(site.url);
    await page.getByRole("heading", { name: "This browser offers no WebGPU" }).waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("Safari 26 or later");
    await screenshot(page, "no-webgpu");
    await page.getByLabel("Language").selectOption("ko");
    await page.getByRole("heading", { name: "이 브라우저에는 WebGPU가 없습니다" }).waitFor();
    expect(await page.locator("html").getAttribute("lang")).toBe("ko");
    await page.close();
  });
});

describe("leyden serve --lan", () => {
  let server: ChildProcess;
  let told: { url: string; fingerprint: string };
  beforeAll(async () => {
    const args = ["src/cli/main.ts", "serve", "--lan", "--json", "--port", String(await freePort())];
    server = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: server.stdout as NodeJS.ReadableStream });
    told = JSON.parse((await lines[Symbol.asyncIterator]().next()).value as string);
  });
  afterAll(() => server?.kill("SIGTERM"));

  it("gives the page over TLS, whose tabs train without a key and go on after a reload", async () => {
    expect(told.fingerprint).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const complaints = complaintsOf(context);
    const page = await context.newPage();
    await page.goto(`https://127.0.0.1:${new URL(told.url).port}/studio/`);
    expect(await page.evaluate(() => isSecureContext)).toBe(true);
    await startRun(page, calc(3));
    await rewardsOf(page, 1);
    await page.reload();
    await rewardsOf(page, 3);
    await finished(page);
    await screenshot(page, "lan");
    await keepCheckpoint(page, "lan");
    expect(complaints).toEqual([]);
    await context.close();
  });
});

describe("leyden.html from a disk", () => {
  it("trains without fetching anything", async () => {
    const path = join(folder, "leyden.html");
    await writeFile(path, await buildSingleFile(esbuild, root));
    const context = await browser.newContext();
    const complaints = complaintsOf(context);
    const requests: string[] = [];
    context.on("request", (request) => requests.push(request.url().slice(0, 60)));
    const page = await context.newPage();
    await page.goto(pathToFileURL(path).href);
    await startRun(page, calc(3));
    await rewardsOf(page, 3);
    await finished(page);
    await screenshot(page, "single-file");
    await keepCheckpoint(page, "single file");
    expect(complaints).toEqual([]);
    expect(requests.filter((url) => !/^(file|blob|data):/.test(url))).toEqual([]);
    await context.close();
  });
});

describe("a checkpoint", () => {
  it("is the same from every delivery, and answers 100 tasks in Node as in the page", async () => {
    expect([...checkpoints.keys()]).toEqual(["folder", "lan", "single file"]);
    const folders = [...checkpoints].map(([name, zip]) => unpackCheckpoint(zip, join(folder, name)));
    const models = await Promise.all(folders);
    const weights = await Promise.all(models.map((model) => readFile(join(model, "model.safetensors"))));
    // The same seeds on the same adapter, whether the run was cut off or not.
    for (const other of weights.slice(1)) expect(other.equals(weights[0] as Buffer)).toBe(true);
    const answers = await answersInNode(models[0] ?? "", questions);
    const same = replies.filter((reply, i) => reply === answers[i]).length;
    console.log(`greedy answers equal: ${same} of ${replies.length}; different texts: ${new Set(replies).size}`);
    expect(replies).toHaveLength(questions.length);
    expect(new Set(replies).size).toBeGreaterThan(questions.length / 10);
    expect(same / questions.length).toBeGreaterThanOrEqual(sameShare);
  });
});

/** A port that was free a moment ago. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
