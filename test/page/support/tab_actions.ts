import type { Page } from "playwright-core";
import type { TabHost, TabOptions } from "../../../src/app/tab/tab_host.ts";
import type { RunPhase } from "../../../src/schema/run_control.ts";

declare global {
  /** The tab that a test has opened in its page. */
  var tab: TabHost;
  var openTab: (options: TabOptions) => Promise<TabHost>;
}

/** How a test opens a tab. */
export interface OpenedTab extends Pick<TabOptions, "agents" | "continues"> {
  /** Path of the service worker's script. */
  readonly script?: string;
}

/** Opens the tab of a page that `serveTab` serves. @throws Error that begins with the code of what the tab lacks */
export async function openTabIn(page: Page, options: OpenedTab = {}): Promise<void> {
  await page.waitForFunction(() => "openTab" in globalThis);
  await page.evaluate(async ({ script = "sw.js", ...given }) => {
    const base = new URL(".", location.href).href;
    const serviceWorker = new URL(script, base);
    try {
      globalThis.tab = await globalThis.openTab({ assets: { kind: "folder", base }, serviceWorker, ...given });
    } catch (thrown) {
      throw new Error(`${(thrown as { code?: string }).code}: ${(thrown as Error).message}`);
    }
  }, options);
}

/** Resolves when the run is in a phase. @throws Error naming the fault when it has failed instead */
export async function waitForPhase(page: Page, phase: RunPhase): Promise<void> {
  await page.waitForFunction(
    (wanted) => globalThis.tab.status.phase === wanted || globalThis.tab.status.phase === "failed",
    phase,
    { timeout: 200_000 },
  );
  const { phase: reached, error } = await page.evaluate(() => globalThis.tab.status);
  if (reached !== phase) throw new Error(`The run is ${reached}: ${error?.code} ${error?.message}`);
}
