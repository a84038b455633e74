import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { launchOptions } from "./chromium.ts";

/** A browser as people have it. */
export interface PlainChromium {
  readonly context: BrowserContext;
  close(): Promise<void>;
}

/**
 * Starts a browser without what playwright changes in the ones that it launches: there every page counts as looked at, and
 * timers in the background are never slowed down.
 */
export async function launchPlainChromium(): Promise<PlainChromium> {
  const folder = await mkdtemp(join(tmpdir(), "leyden-plain-"));
  const { executablePath = "", args = [] } = launchOptions;
  const own = ["--headless=new", "--no-first-run", "--remote-debugging-port=0", `--user-data-dir=${folder}`];
  const child = spawn(executablePath, [...args, ...own, "about:blank"], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  const endpoint = await new Promise<string>((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (part) => {
      said += part;
      const found = /DevTools listening on (ws:\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`The browser ended: ${said}`)));
  });
  const browser = await chromium.connectOverCDP(endpoint, { noDefaults: true });
  const [context] = browser.contexts();
  if (context === undefined) throw new Error("The browser has no context of its own.");
  return {
    context,
    async close() {
      await browser.close();
      child.kill();
      await ended;
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Puts another tab in front of a page, which is hidden from then on. */
export async function hide(page: Page): Promise<void> {
  const front = await page.context().newPage();
  await front.bringToFront();
  await page.waitForFunction(() => document.visibilityState === "hidden");
}

/** Stops a page that is hidden, with all its workers, as a browser does to save memory and power. */
export async function freeze(page: Page, ms: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setWebLifecycleState", { state: "frozen" });
  await new Promise((resolve) => setTimeout(resolve, ms));
  await session.send("Page.setWebLifecycleState", { state: "active" });
  await session.detach();
}
