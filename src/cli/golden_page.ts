import { openDevice } from "../gpu/device.ts";
import type { DeviceOptions } from "../gpu/device_options.ts";
import { platform } from "../platform/browser.ts";
import { type GoldenReport, goldenDevice } from "./golden_device.ts";
import { runGoldenItem } from "./golden_items.ts";
import type { GoldenItem } from "./golden_paths.ts";
import type { GoldenRow } from "./golden_rl/golden_file.ts";

/** What the page is handed: items whose paths lie in the origin's private files, and those files' bytes in base64. */
export interface GoldenPageInput {
  items: GoldenItem[];
  contents: { path: string; base64: string }[];
  /** How the page opens its device. */
  device: DeviceOptions;
}

/** Runs inside a browser page: writes the files, checks every item on the page's own WebGPU, removes the files. */
async function checkInPage({ items, contents, device: options }: GoldenPageInput): Promise<GoldenReport> {
  const { files, clock } = platform;
  for (const { path, base64 } of contents) {
    await files.write(
      path,
      Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)),
    );
  }
  const device = await openDevice(await platform.gpu(), options);
  try {
    const rows: GoldenRow[] = [];
    for (const item of items) rows.push(...(await runGoldenItem({ files, clock, device: async () => device }, item)));
    return { rows, device: items.some(({ kind }) => kind === "model") ? goldenDevice(device) : null };
  } finally {
    device.close();
    for (const { path } of contents) await files.remove(path);
  }
}

/** The page's one entry, called through the browser's automation. */
export interface GoldenPageGlobal {
  runGoldenPage?: (input: GoldenPageInput) => Promise<GoldenReport>;
}

(globalThis as GoldenPageGlobal).runGoldenPage = checkInPage;
