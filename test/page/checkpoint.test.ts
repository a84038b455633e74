/**
 * A model trained in a tab answers in Node as it did there: its exported checkpoint, unpacked and served, gives the same
 * greedy replies to the example's tasks.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dataset } from "../../examples/calc/tasks.ts";
import { createApp } from "../../gateway/app.ts";
import { openServedModel } from "../../src/app/open_served_model.ts";
import { platform } from "../../src/platform/node.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { complaintsOf, launchChromium } from "./support/chromium.ts";
import { serveTab, type TabSite } from "./support/tab_site.ts";

const taskCount = 100;
const atOnce = 25;
/** Two software adapters round differently; a reply may turn on the last bit of a score. */
const sameShare = 0.98;

interface Body {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly max_tokens: number;
  readonly temperature: number;
}

interface TabApi {
  fetch(path: string, init?: RequestInit): Promise<Response>;
  exportCheckpoint(): Promise<{ zip: Uint8Array }>;
}

const bodies: readonly Body[] = dataset.heldOut.slice(0, taskCount).map(({ input }) => ({
  model: "policy",
  messages: [
    { role: "system", content: "Answer with the calculator." },
    { role: "user", content: (input as { question: string }).question },
  ],
  max_tokens: 48,
  temperature: 0,
}));

let site: TabSite;
let browser: Browser;
let folder = "";

beforeAll(async () => {
  site = await serveTab();
  browser = await launchChromium();
  folder = await mkdtemp(join(tmpdir(), "leyden-checkpoint-"));
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await site?.close();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

/** Trains one update in a tab, asks its model, and unpacks the checkpoint that it gives out. */
async function trainedInTab(): Promise<string[]> {
  const context = await browser.newContext();
  complaintsOf(context);
  const page = await context.newPage();
  await page.goto(site.url);
  const { replies, zip } = await page.evaluate(
    async ({ bodies: asked, atOnce: width }) => {
      const scope = globalThis as unknown as {
        openTab(o: { assets: object; serviceWorker: null }): Promise<TabApi & { status: { phase: string } }>;
      };
      const base = new URL(".", location.href).href;
      const tab = await scope.openTab({ assets: { kind: "folder", base }, serviceWorker: null });
      const post = (path: string, body: object): Promise<Response> =>
        tab.fetch(path, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        });
      const overrides = { "train.updates": 1, "train.tasksPerUpdate": 2, "train.groupSize": 4 };
      await post("/studio/api/control", { action: "start", experiment: "calc", overrides });
      while (!["finished", "failed"].includes(tab.status.phase)) await new Promise((next) => setTimeout(next, 200));
      const texts: string[] = [];
      for (let at = 0; at < asked.length; at += width) {
        const answers = await Promise.all(
          asked.slice(at, at + width).map(async (body) => (await post("/v1/chat/completions", body)).json()),
        );
        texts.push(...answers.map((answer) => JSON.stringify(answer.choices[0].message)));
      }
      const archive = await tab.exportCheckpoint();
      let binary = "";
      for (const byte of archive.zip) binary += String.fromCharCode(byte);
      return { replies: texts, zip: btoa(binary) };
    },
    { bodies, atOnce },
  );
  for (const [path, bytes] of Object.entries(unzipSync(new Uint8Array(Buffer.from(zip, "base64"))))) {
    if (bytes.length > 0) await platform.files.write(join(folder, path), bytes);
  }
  await context.close();
  return replies;
}

/** Folder of the unpacked archive that holds the model. */
async function modelFolder(): Promise<string> {
  const inside = await platform.files.list(folder);
  const nested = inside.find(({ kind }) => kind === "folder");
  const isHere = inside.some(({ name }) => name === "model.safetensors");
  return isHere || nested === undefined ? folder : join(folder, nested.name);
}

async function answeredInNode(): Promise<string[]> {
  const model = await openServedModel(platform, await modelFolder());
  const { clock, entropy } = platform;
  const app = createApp({ store: new MemoryStore(), model, clock, entropy, config: { key: "" } });
  const out: string[] = [];
  for (let at = 0; at < bodies.length; at += atOnce) {
    const answers = await Promise.all(
      bodies.slice(at, at + atOnce).map(async (body) => {
        const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
        return (await app.request("http://127.0.0.1/v1/chat/completions", init)).json();
      }),
    );
    out.push(...answers.map((answer) => JSON.stringify(answer.choices[0].message)));
  }
  await model.engine.close();
  return out;
}

/** Ids of tool calls are made up by each gateway. */
const withoutIds = (reply: string): string => reply.replace(/"id":"[^"]*"/g, '"id":""');

describe("a checkpoint from a tab", () => {
  it(`answers ${taskCount} tasks in Node as in the tab`, async () => {
    const inTab = (await trainedInTab()).map(withoutIds);
    const inNode = (await answeredInNode()).map(withoutIds);
    const same = inTab.filter((reply, i) => reply === inNode[i]).length;
    console.log(`greedy replies equal: ${same} of ${inTab.length}; different texts: ${new Set(inTab).size}`);
    expect(inTab).toHaveLength(taskCount);
    expect(new Set(inTab).size).toBeGreaterThan(taskCount / 10);
    expect(same / taskCount).toBeGreaterThanOrEqual(sameShare);
  }, 600_000);
});
