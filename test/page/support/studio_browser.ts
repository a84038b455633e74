import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { type ThreadTime, threadTime } from "./thread_time.ts";

/** A Chromium that opens a studio, and what went wrong in it. */
export class StudioBrowser {
  /** Errors and warnings of pages. */
  readonly problems: string[] = [];
  /** Addresses that were asked and are not the studio's own. */
  readonly foreign: string[] = [];
  private readonly browser: Browser;
  private readonly url: string;

  private constructor(browser: Browser, url: string) {
    this.browser = browser;
    this.url = url;
  }

  static async launch(url: string): Promise<StudioBrowser> {
    const browser = await chromium.launch({
      executablePath: process.env.LEYDEN_CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-background-networking"],
    });
    return new StudioBrowser(browser, url);
  }

  /** A place of the studio in a context of its own. */
  async open(hash: string, o: { dark?: boolean; language?: string; width?: number } = {}): Promise<Page> {
    const context = await this.browser.newContext({
      viewport: { width: o.width ?? 1440, height: 900 },
      colorScheme: o.dark ? "dark" : "light",
      locale: o.language === "ko" ? "ko-KR" : "en-US",
      acceptDownloads: true,
    });
    this.watch(context);
    const page = await context.newPage();
    await page.goto(`${this.url}/studio/?k=admin&language=${o.language ?? "en"}${hash}`);
    return page;
  }

  /** What a page's main thread computes while something is done. */
  threadTime(page: Page, work: () => Promise<void>): Promise<ThreadTime> {
    return threadTime(this.browser, page, work);
  }

  close(): Promise<void> {
    return this.browser.close();
  }

  private watch(context: BrowserContext): void {
    context.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.problems.push(message.text());
    });
    context.on("weberror", (error) => this.problems.push(String(error.error())));
    context.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(this.url) && !/^(data|blob|file):/.test(url)) this.foreign.push(url);
    });
  }
}
