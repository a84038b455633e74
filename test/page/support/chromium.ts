import { type Browser, type BrowserContext, type BrowserType, chromium } from "playwright-core";

/** Debian's Chromium, or the one that LEYDEN_CHROMIUM names, with WebGPU on the software adapter. */
export const launchOptions: NonNullable<Parameters<BrowserType["launch"]>[0]> = {
  executablePath: process.env.LEYDEN_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--enable-unsafe-webgpu", "--no-sandbox", "--disable-background-networking"],
};

/** Starts a browser. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch(launchOptions);
}

/** What a page complains of; a test expects it to stay empty. Its actions may take as long as a busy machine needs. */
export function complaintsOf(context: BrowserContext): string[] {
  context.setDefaultTimeout(120_000);
  const complaints: string[] = [];
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  context.on("weberror", (error) => complaints.push(String(error.error())));
  return complaints;
}
