/** A room: a learner's tab joins by the code and trains; its teacher sees how far it is, and no text of its run. */
import { mkdirSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp } from "../../gateway/app.ts";
import type { ServedGateway } from "../../gateway/listening.ts";
import { Room } from "../../gateway/room/room.ts";
import { serveNode } from "../../gateway/serve_node.ts";
import { pageFiles } from "../../src/app/page_build/page_files.ts";
import { platform } from "../../src/platform/node.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { complaintsOf, launchChromium } from "./support/chromium.ts";

const key = "teachers-own-key";
const runMs = 240_000;
const shots = process.env.LEYDEN_SCREENSHOTS ?? "";

let browser: Browser;
let served: ServedGateway;
const bodies: string[] = [];

beforeAll(async () => {
  const { clock, entropy } = platform;
  const app = createApp({
    store: new MemoryStore(),
    model: null,
    clock,
    entropy,
    config: { key },
    page: pageFiles(platform, { kind: "tab", needsKey: true, room: true }),
    room: new Room("ABC234", clock, entropy),
  });
  served = await serveNode(app, { host: "127.0.0.1", port: 0 });
  browser = await launchChromium();
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await served?.close(1000);
});

/** Reloads a lesson while its run is at work: everything is as before, and the run comes to its end in the new page. */
async function reloadMidRun(page: Page): Promise<void> {
  const item = page.getByRole("listitem").filter({ hasText: "Run: the whole training" });
  await item.getByText("0 / 2").waitFor({ timeout: runMs });
  await page.reload();
  await item.getByText(/^Opening|[01] \/ 2/).waitFor({ timeout: 60_000 });
  expect(await item.getByRole("button").isDisabled()).toBe(true);
  expect(await page.getByRole("button", { name: "Stop the run" }).isEnabled()).toBe(true);
  expect(await page.getByRole("checkbox", { name: /Tiny runs/ }).isChecked()).toBe(true);
  expect(await page.getByRole("radio", { name: "The harness", exact: true }).isChecked()).toBe(true);
  await page.getByText("Right.", { exact: true }).waitFor();
  await item.getByText("Finished", { exact: true }).waitFor({ timeout: runMs });
  // What it recorded is read, and stands in the lesson's tables; another reload keeps that too.
  for (const look of ["at once", "after a reload"]) {
    if (look === "after a reload") await page.reload();
    await item.getByText("Finished", { exact: true }).waitFor();
    await page.getByRole("table", { name: "Numbers of the runs" }).waitFor();
    expect(await item.getByRole("button").isEnabled()).toBe(true);
  }
  await page.getByText("Share with the room").click();
  await page.getByText("Sharing with the room.").waitFor();
}

/** Clears a lesson for whoever sits down next: nothing of the learner before is left, in the page or after a reload. */
async function startOver(page: Page): Promise<void> {
  const button = page.getByRole("button", { name: "Start this lesson over" });
  const dialog = page.getByRole("alertdialog", { name: "Forget the answers and results of this lesson?" });
  await button.click();
  await dialog.getByRole("button", { name: "Keep them" }).click();
  await page.getByText("1 / 4").waitFor();
  await button.click();
  await dialog.getByRole("button", { name: "Forget them" }).click();
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("ls-exercises");
  for (const look of ["at once", "after a reload"]) {
    if (look === "after a reload") {
      await page.reload();
      await page.getByText("Share with the room").click();
    }
    await page.getByText("0 / 4").waitFor();
    await button.waitFor({ state: "detached" });
    expect(await page.getByRole("checkbox", { name: /Tiny runs/ }).isChecked()).toBe(false);
    await page.getByRole("button", { name: "Join" }).waitFor();
  }
}

describe("a room", () => {
  it("shows a learner's progress to the teacher alone", { timeout: 600_000 }, async () => {
    const contexts = await Promise.all([1, 2].map(() => browser.newContext({ locale: "en-US" })));
    const problems = contexts.map(complaintsOf);
    const [learner, teacher] = (await Promise.all(contexts.map((context) => context.newPage()))) as [Page, Page];
    learner.on("request", (request) => {
      if (request.url().includes("/room/api/")) bodies.push(request.postData() ?? "");
    });
    await learner.goto(`${served.url}/studio/#lesson/01-policy`);
    await learner.getByText("Share with the room").click();
    await learner.getByLabel("Code of the room").fill("abc234");
    await learner.getByLabel("Name to show").fill("<img src=x onerror=alert(1)> Mina");
    await learner.getByRole("button", { name: "Join" }).click();
    await learner.getByText("Sharing with the room.").waitFor();

    await teacher.goto(`${served.url}/studio/#key=${key}`);
    await teacher.getByRole("link", { name: "Room" }).click();
    await teacher.getByText("ABC234").waitFor();
    const row = teacher.getByRole("row", { name: /Mina/ });
    await row.getByRole("cell", { name: "A policy, a harness, a reward" }).waitFor();

    await learner.getByRole("radio", { name: "The harness", exact: true }).check();
    await learner.getByRole("button", { name: "Check" }).first().click();
    await row.getByRole("cell", { name: "1 / 4" }).waitFor({ timeout: 30_000 });
    await learner.getByRole("checkbox", { name: /Tiny runs/ }).check();
    await learner.getByRole("button", { name: "Run: the whole training" }).click();
    await reloadMidRun(learner);
    await row.getByRole("cell", { name: "2 / 2" }).waitFor({ timeout: runMs });
    await row.getByRole("cell", { name: "1 / 4" }).waitFor();
    await row.getByRole("cell", { name: /^0\.\d\d$|^1\.00$/ }).waitFor();
    // A name is a text like any other.
    expect(await row.getByRole("rowheader").textContent()).toBe("<img src=x onerror=alert(1)> Mina");
    if (shots !== "") {
      mkdirSync(shots, { recursive: true });
      await teacher.screenshot({ path: `${shots}/room.png`, fullPage: true });
    }
    expect(bodies.length).toBeGreaterThan(2);
    expect(bodies.join("\n")).not.toMatch(/answer \d|use \d|sum of/);

    await row.getByRole("button", { name: /^Remove: .*Mina$/ }).click();
    await row.waitFor({ state: "detached", timeout: 30_000 });
    const leave = learner.getByRole("button", { name: "Leave" });
    await leave.click();
    await learner.getByLabel("Code of the room").fill("ABC234");
    await learner.getByLabel("Name to show").fill("Mina");
    await learner.getByRole("button", { name: "Join" }).click();
    await row.waitFor({ timeout: 30_000 });
    await startOver(learner);
    await row.waitFor({ state: "detached", timeout: 30_000 });
    expect(problems).toEqual([[], []]);
  });
});
