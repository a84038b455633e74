// The whole system in a tab: model, gateway, agents and trainer in Chromium's workers.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { StartRequest } from "../../src/schema/run_control.ts";
import { complaintsOf, launchOptions } from "./support/chromium.ts";
import { openTabIn, waitForPhase } from "./support/tab_actions.ts";
import { serveTab, type TabSite } from "./support/tab_site.ts";

let site: TabSite;
let folder: string;
let context: BrowserContext;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  site = await serveTab();
});
afterAll(() => site?.close());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "leyden-tab-"));
  context = await chromium.launchPersistentContext(folder, launchOptions);
  complaints = complaintsOf(context);
  page = await context.newPage();
  await page.goto(site.url);
});
afterEach(async () => {
  await context.close();
  rmSync(folder, { recursive: true, force: true });
});

const small = { "train.tasksPerUpdate": 2, "train.groupSize": 4, "rollout.concurrency": 8 };

function control(body: object): Promise<[status: number, text: string]> {
  return page.evaluate(async (asked) => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(asked) };
    const response = await globalThis.tab.fetch("/studio/api/control", init);
    return [response.status, await response.text()];
  }, body);
}

async function start(request: Partial<StartRequest>): Promise<void> {
  const [status, text] = await control({ action: "start", experiment: "calc", overrides: small, ...request });
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
}

async function metrics(): Promise<Record<string, number>[]> {
  const text = await page.evaluate(async () => (await globalThis.tab.fetch("/studio/api/metrics?after=-1")).text());
  return (JSON.parse(text) as { lines: Record<string, number>[] }).lines;
}

describe("a tab", () => {
  for (const agents of ["fetch", "service-worker"] as const) {
    it(`trains with an unmodified agent that reaches the gateway by ${agents}`, async () => {
      await openTabIn(page, { agents });
      await start({ overrides: { ...small, "train.updates": 2 } });
      await waitForPhase(page, "finished");
      const lines = await metrics();
      expect(lines.map(({ step }) => step)).toEqual([1, 2]);
      expect(lines.every((line) => (line["training/n_tokens_trained"] ?? -1) >= 0)).toBe(true);
      const chat = await page.evaluate(async () => {
        const body = JSON.stringify({ model: "policy", messages: [{ role: "user", content: "Hi" }], max_tokens: 4 });
        const init = { method: "POST", headers: { "content-type": "application/json" }, body };
        return (await globalThis.tab.fetch("/v1/chat/completions", init)).status;
      });
      expect([chat, complaints]).toEqual([200, []]);
    });
  }

  for (const experiment of ["vault", "team"]) {
    it(`trains the agent of ${experiment}, which reads its task on standard input`, async () => {
      await openTabIn(page);
      await start({ experiment, overrides: { ...small, "train.updates": 1 } });
      await waitForPhase(page, "finished");
      const [line = {}] = await metrics();
      expect([line["training/n_rollouts"], line["training/n_rollouts_failed"]]).toEqual([8, 0]);
      expect(line["training/n_tokens"]).toBeGreaterThan(0);
      expect(complaints).toEqual([]);
    });
  }

  it("pauses, steps, stops and shows what it has; another tab is refused", async () => {
    await openTabIn(page);
    await start({ paused: true });
    expect(await page.evaluate(() => globalThis.tab.status.phase)).toBe("paused");
    expect((await control({ action: "step" }))[0]).toBe(200);
    const status = await page.evaluate(() => globalThis.tab.status);
    expect([status.phase, status.update]).toEqual(["paused", 1]);
    const second = await context.newPage();
    await second.goto(site.url);
    await expect(openTabIn(second)).rejects.toThrow("second_tab");
    expect((await control({ action: "stop" }))[0]).toBe(200);
    expect((await metrics()).length).toBe(1);
    const [refused, text] = await control({ action: "step" });
    expect([refused, JSON.parse(text).error.code]).toEqual([409, "run_phase"]);
  });

  it("goes on after a reload where it was cut off", async () => {
    await openTabIn(page);
    await start({ overrides: { ...small, "train.updates": 3 } });
    await page.waitForFunction(() => globalThis.tab.status.update >= 1);
    await page.reload();
    await openTabIn(page);
    await waitForPhase(page, "finished");
    expect((await metrics()).map(({ step }) => step)).toEqual([1, 2, 3]);
    expect(complaints).toEqual([]);
  });

  it("gives its checkpoint away and goes on from it", async () => {
    await openTabIn(page);
    await start({ overrides: { ...small, "train.updates": 1 } });
    await waitForPhase(page, "finished");
    const back = await page.evaluate(async () => {
      const { name, zip } = await globalThis.tab.exportCheckpoint();
      await globalThis.tab.importCheckpoint(zip);
      const { phase, update, experiment } = globalThis.tab.status;
      return [name, phase, update, experiment];
    });
    expect(back).toEqual(["calc_step_1.zip", "finished", 1, "calc"]);
    await start({ overrides: { ...small, "train.updates": 2 }, resume: true });
    await waitForPhase(page, "finished");
    expect((await metrics()).map(({ step }) => step)).toEqual([2]);
  });

  it("says why a run cannot be opened, and opens the next one", async () => {
    await openTabIn(page);
    const overrides = { "model.memoryBytes": 1000 };
    const [, text] = await control({ action: "start", experiment: "calc", overrides });
    const { error } = JSON.parse(text) as { error: { code: string; do: string } };
    expect([error.code, error.do]).toEqual(["memory_budget", expect.stringContaining("model.memoryBytes")]);
    expect(await page.evaluate(() => globalThis.tab.status.phase)).toBe("failed");
    await start({ paused: true });
    expect(complaints).toEqual([]);
  });

  it("rewards by a text of the page's, and refuses one that is no function", async () => {
    await openTabIn(page);
    const [status, text] = await control({ action: "start", experiment: "calc", overrides: small, reward: "7" });
    expect([status, JSON.parse(text).error.code]).toEqual([400, "config"]);
    const reward = "({ message }) => (message ?? '').length / 100 + 0.5";
    await start({ overrides: { ...small, "train.updates": 1 }, reward });
    await waitForPhase(page, "finished");
    expect((await metrics())[0]?.["training/reward"]).toBeGreaterThanOrEqual(0.5);
  });

  it("answers by address again after the browser has stopped the service worker", async () => {
    await openTabIn(page);
    await start({ paused: true });
    const ask = () =>
      page.evaluate(async () => {
        const { gatewayUrl, key } = globalThis.tab;
        const headers = { authorization: `Bearer ${key}` };
        return (await fetch(`${await gatewayUrl}/v1/models`, { headers })).status;
      });
    expect(await ask()).toBe(200);
    const session = await context.newCDPSession(page);
    await session.send("ServiceWorker.enable");
    await session.send("ServiceWorker.stopAllWorkers");
    expect([await ask(), complaints]).toEqual([200, []]);
    const second = await context.newPage();
    await second.goto(site.url);
    await expect(openTabIn(second)).rejects.toThrow("second_tab");
    expect([await ask(), complaints]).toEqual([200, []]);
  });

  it("opens without a service worker, and says so", async () => {
    await openTabIn(page, { agents: "service-worker", script: "missing.js" });
    expect(await page.evaluate(async () => [await globalThis.tab.gatewayUrl, ...globalThis.tab.lines])).toEqual([
      null,
      expect.stringMatching(
        /^No service worker answers for the gateway \(.*\): agents reach it by their fetch alone\.$/,
      ),
    ]);
    expect(await page.evaluate(async () => (await globalThis.tab.fetch("/studio/api/choices")).status)).toBe(200);
  });
});
