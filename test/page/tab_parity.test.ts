// A run is the same run wherever it is made: with the same seeds on the same adapter a tab records the tokens that Node
// records, whichever way its agents reach the gateway, and goes on with Node's run as Node does. Node takes the software
// adapter that Chromium brings.
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { unzipSync, zipSync } from "fflate";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStoreForReading } from "../../src/app/open_store.ts";
import { fileSource } from "../../src/io/byte_source.ts";
import { readTensor } from "../../src/io/safetensors.ts";
import { readSafetensorsHeader } from "../../src/io/safetensors_header.ts";
import { platform } from "../../src/platform/node.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import { launchOptions } from "./support/chromium.ts";
import { openTabIn, waitForPhase } from "./support/tab_actions.ts";
import { serveTab, type TabSite } from "./support/tab_site.ts";

/** The driver that Debian's Chromium renders WebGPU with. */
const driver = process.env.LEYDEN_SWIFTSHADER ?? "/usr/lib/chromium/vk_swiftshader_icd.json";
/** Where everything has to be tested a missing driver is a failure. */
const isTested = existsSync(driver) || process.env.LEYDEN_REQUIRE_SHARED === "1";
if (!isTested) console.warn(`skipped: ${driver} is not there; LEYDEN_SWIFTSHADER names another.`);
const overrides = { "train.tasksPerUpdate": 3, "train.groupSize": 4, "rollout.concurrency": 8 };

let site: TabSite;
let folder: string;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  if (!isTested) return;
  folder = mkdtempSync(join(tmpdir(), "leyden-parity-"));
  site = await serveTab();
  context = await chromium.launchPersistentContext(join(folder, "profile"), launchOptions);
  page = await context.newPage();
});

afterAll(async () => {
  await context?.close();
  await site?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** Trains in a process of its own to `updates` updates. */
async function trainInNode(out: string, updates: number, ...flags: string[]): Promise<void> {
  const set = Object.entries(overrides).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
  const args = [
    "src/cli/main.ts",
    "train",
    "examples/calc",
    "--out",
    out,
    "--updates",
    String(updates),
    ...set,
    ...flags,
  ];
  const env = { ...process.env, VK_DRIVER_FILES: driver, VK_ICD_FILENAMES: driver };
  await promisify(execFile)(process.execPath, args, { env, maxBuffer: 1 << 26 });
}

async function trainInTab(updates: number, resume: boolean): Promise<void> {
  const asked = { action: "start", experiment: "calc", overrides: { ...overrides, "train.updates": updates }, resume };
  const answer = await page.evaluate(async (body) => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    return (await globalThis.tab.fetch("/studio/api/control", init)).text();
  }, asked);
  expect(JSON.parse(answer)).toHaveProperty("phase");
  await waitForPhase(page, "finished");
}

/** Brings the tab's run to the disk. */
async function exportTo(out: string): Promise<void> {
  const zip = await page.evaluate(async () => {
    const { zip: bytes } = await globalThis.tab.exportRun();
    let text = "";
    for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    return btoa(text);
  });
  for (const [path, bytes] of Object.entries(unzipSync(Buffer.from(zip, "base64")))) {
    await mkdir(dirname(join(out, path)), { recursive: true });
    writeFileSync(join(out, path), bytes);
  }
}

/** Puts a run of Node's into the tab. */
async function importFrom(run: string): Promise<void> {
  const paths = readdirSync(run, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = paths
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !path.includes("/attempts/"))
    .map((path): [string, Uint8Array] => [path.slice(run.length + 1), readFileSync(path)]);
  const zip = Buffer.from(zipSync(Object.fromEntries(files), { level: 0 })).toString("base64");
  await page.evaluate(async (text) => {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    await globalThis.tab.importRun("calc", [{ path: "run.zip", file: new Blob([bytes]) }]);
  }, zip);
}

/** Every call of a run with its exact tokens, in an order of its own. */
async function tokenLog(run: string): Promise<Map<string, CallRecord["tokens"]>> {
  const store = await openStoreForReading(platform, join(run, "store.sqlite"));
  const log = new Map<string, CallRecord["tokens"]>();
  for (const { rollout_id: id } of await store.rollouts()) {
    for (const [at, { callKey, tokens }] of (await store.calls(id)).entries())
      log.set(`${id} ${at} ${callKey}`, tokens);
  }
  await store.close();
  return new Map([...log].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function lineOf(run: string, step: number): Record<string, number> {
  const lines = readFileSync(join(run, "metrics.jsonl"), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, number>).find((line) => line.step === step) ?? {};
}

/** All weights of a checkpoint, one tensor after the other. */
async function weightsOf(checkpoint: string): Promise<Float32Array[]> {
  const source = await fileSource(platform.files, join(checkpoint, "model.safetensors"));
  const { tensors } = await readSafetensorsHeader(source);
  return Promise.all(tensors.map((entry) => readTensor(source, entry)));
}

/** ||a - b|| / ||b|| over all weights of two checkpoints. */
async function weightDistance(a: string, b: string): Promise<number> {
  const [ours, theirs] = await Promise.all([weightsOf(a), weightsOf(b)]);
  let difference = 0;
  let norm = 0;
  theirs.forEach((tensor, at) => {
    tensor.forEach((value, i) => {
      difference += ((ours[at]?.[i] ?? Number.NaN) - value) ** 2;
      norm += value ** 2;
    });
  });
  return Math.sqrt(difference / norm);
}

/** Counts from now on what the service worker hands on to the tab's host. */
async function countForwarded(): Promise<() => Promise<number>> {
  expect(await page.evaluate(() => globalThis.tab.gatewayUrl)).toBe(`${site.url}gateway`);
  const [worker] = context.serviceWorkers();
  if (worker === undefined) throw new Error("The page has no service worker.");
  await worker.evaluate(() => {
    const scope = globalThis as unknown as { forwarded: number };
    scope.forwarded = 0;
    const post = MessagePort.prototype.postMessage;
    MessagePort.prototype.postMessage = function (this: MessagePort, message: unknown, ...rest: unknown[]): void {
      if ((message as { kind?: string }).kind === "http_request") scope.forwarded++;
      Reflect.apply(post, this, [message, ...rest]);
    };
  });
  return () => worker.evaluate(() => (globalThis as unknown as { forwarded: number }).forwarded);
}

/** The tokens of two logs are the same, and their log-probabilities to 1e-4. */
function expectSameLog(ours: Awaited<ReturnType<typeof tokenLog>>, theirs: typeof ours): void {
  expect([...ours.keys()]).toEqual([...theirs.keys()]);
  expect(ours.size).toBeGreaterThan(30);
  let worst = 0;
  for (const [key, { promptIds, replyIds, versions, logprobs }] of theirs) {
    const own = ours.get(key);
    expect([own?.promptIds, own?.replyIds, own?.versions]).toEqual([promptIds, replyIds, versions]);
    logprobs.forEach((value, i) => {
      worst = Math.max(worst, Math.abs(value - (own?.logprobs[i] ?? Number.NaN)));
    });
  }
  expect(worst).toBeLessThan(1e-4);
}

describe.skipIf(!isTested)("a run in a tab and in Node", () => {
  let log: Awaited<ReturnType<typeof tokenLog>>;
  beforeAll(async () => {
    await trainInNode(join(folder, "node"), 2);
    log = await tokenLog(join(folder, "node"));
  }, 120_000);

  it.each(["service-worker", "fetch"] as const)(
    "has the same token log with agents that call by %s",
    async (agents) => {
      await page.goto(site.url);
      await openTabIn(page, { agents });
      const forwarded = await countForwarded();
      await trainInTab(2, false);
      // An agent makes every call of the log, and posts or asks nothing else.
      expect(await forwarded()).toBe(agents === "fetch" ? 0 : log.size);
      const tab = join(folder, `tab_${agents}`);
      await exportTo(tab);
      expectSameLog(await tokenLog(tab), log);
    },
  );

  it("goes on in the tab as it does in Node", async () => {
    const [node, tab] = [join(folder, "node"), join(folder, "tab_on")];
    await importFrom(node);
    await trainInNode(node, 3, "--resume");
    await trainInTab(3, true);
    await exportTo(tab);
    const [ours, theirs] = [lineOf(tab, 3), lineOf(node, 3)];
    for (const name of [
      "training/reward",
      "training/n_tokens_trained",
      "actor/loss",
      "actor/grad_norm",
      "actor/entropy",
    ]) {
      expect(theirs[name], name).toBeTypeOf("number");
      expect(Math.abs((ours[name] ?? Number.NaN) - (theirs[name] ?? 0)), name).toBeLessThan(1e-5);
    }
    const step = "checkpoints/step_3";
    expect(await weightDistance(join(tab, step), join(node, step))).toBeLessThan(1e-5);
  });
});
