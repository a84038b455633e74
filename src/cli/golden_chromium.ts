import { EnvironmentError } from "../core/errors.ts";
import { deviceOptions } from "../gpu/device_options.ts";
import type { HostPlatform } from "../schema/platform.ts";
import type { GoldenReport } from "./golden_device.ts";
import type { GoldenPageGlobal, GoldenPageInput } from "./golden_page.ts";
import type { GoldenItem } from "./golden_paths.ts";

/** WebGPU and private files need a secure context; requests to this origin are answered by the test driver itself. */
const origin = "http://localhost/";

/**
 * Runs the items in headless Chromium on the page's own WebGPU. Chromium is LEYDEN_CHROMIUM, else /usr/bin/chromium.
 * @throws EnvironmentError "no_chromium" when Chromium or the packages that bundle and drive it are missing
 */
export async function runGoldenInChromium(platform: HostPlatform, items: readonly GoldenItem[]): Promise<GoldenReport> {
  const code = await bundlePage();
  const input = await pageInput(platform, items);
  const { chromium } = await optional(() => import("playwright-core"), "playwright-core");
  const executablePath = platform.env.LEYDEN_CHROMIUM ?? "/usr/bin/chromium";
  if (!(await platform.files.exists(executablePath))) {
    throw new EnvironmentError("no_chromium", `There is no Chromium at ${executablePath}.`, {
      do: "Install chromium, or set LEYDEN_CHROMIUM to its path.",
    });
  }
  const args = ["--enable-unsafe-webgpu", "--disable-background-networking"];
  const browser = await chromium.launch({
    executablePath,
    args: platform.system.isRoot ? [...args, "--no-sandbox"] : args,
  });
  try {
    const page = await browser.newPage();
    await page.route(`${origin}**`, (route) =>
      route.fulfill({ contentType: "text/html", body: "<!doctype html><title>leyden golden</title>" }),
    );
    await page.goto(origin);
    await page.addScriptTag({ content: code, type: "module" });
    await page.waitForFunction(() => (globalThis as GoldenPageGlobal).runGoldenPage !== undefined);
    return await page.evaluate((given) => {
      const run = (globalThis as GoldenPageGlobal).runGoldenPage as Required<GoldenPageGlobal>["runGoldenPage"];
      return run(given);
    }, input);
  } finally {
    await browser.close();
  }
}

async function bundlePage(): Promise<string> {
  const { build } = await optional(() => import("esbuild"), "esbuild");
  const entry = new URL("./golden_page.ts", import.meta.url);
  const result = await build({
    entryPoints: [decodeURIComponent(entry.pathname)],
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2024",
    logLevel: "silent",
  });
  return result.outputFiles[0]?.text ?? "";
}

async function optional<T>(load: () => Promise<T>, name: string): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new EnvironmentError("no_chromium", `The package ${name} could not be loaded.`, {
      do: "Run npm ci in a clone of the repository: a browser is driven from there only.",
      cause,
    });
  }
}

/** The items' files, to be written under the page's private files with the same names. */
async function pageInput({ files, env }: HostPlatform, items: readonly GoldenItem[]): Promise<GoldenPageInput> {
  const input: GoldenPageInput = { items: [], contents: [], device: deviceOptions(env) };
  for (const [i, item] of items.entries()) {
    const folder = `golden_${i}`;
    const copy = async (from: string, to: string): Promise<void> => {
      input.contents.push({ path: to, base64: Buffer.from(await files.read(from)).toString("base64") });
    };
    if (item.kind === "json") {
      const path = files.join(folder, item.file);
      await copy(item.path, path);
      input.items.push({ ...item, path });
      continue;
    }
    for (const { name, kind } of await files.list(item.path)) {
      if (kind === "file" && /\.(json|safetensors)$/.test(name))
        await copy(files.join(item.path, name), files.join(folder, name));
    }
    input.items.push({ ...item, path: folder });
  }
  return input;
}
