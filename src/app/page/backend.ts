import { asLeydenError, EnvironmentError } from "../../core/errors.ts";
import type { PageAssets } from "../../schema/page_assets.ts";
import { type PageSetting, pageSettingPath, plainPageSetting } from "../../schema/page_setting.ts";
import type { RunFault } from "../../schema/run_control.ts";
import type { TabHost } from "../tab/tab_host.ts";
import { embeddedAssets, isSingleFile } from "./embedded.ts";

/** What the page talks to: a gateway's routes, wherever the gateway runs. */
export interface PageBackend {
  /** `served`: the gateway that sent the page; `tab`: one in this tab. */
  readonly kind: "served" | "tab";
  readonly setting: PageSetting;
  /** Asks the gateway; `path` begins with "/". The key is added. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** The tab's own parts; null when served. */
  readonly tab: TabHost | null;
}

/** Folder of the page, as an absolute address that ends in "/". */
function pageBase(): string {
  return new URL(".", document.baseURI).href;
}

/** How the page is served. @throws LeydenError when its own files cannot be read */
export async function readSetting(): Promise<PageSetting> {
  if (isSingleFile()) return plainPageSetting;
  const response = await fetch(new URL(pageSettingPath, pageBase()));
  if (!response.ok) return plainPageSetting;
  return { ...plainPageSetting, ...((await response.json()) as Partial<PageSetting>) };
}

/**
 * Asks the gateway that sent the page, which lies in the folder above it; `path` begins with "/". @throws EnvironmentError
 * "server_gone"
 */
export function serverFetch(key: string | null): PageBackend["fetch"] {
  const root = new URL("..", pageBase());
  return async (path, init = {}) => {
    const headers = new Headers(init.headers);
    if (key !== null) headers.set("authorization", `Bearer ${key}`);
    try {
      return await fetch(new URL(path.replace(/^\//, ""), root), { ...init, headers });
    } catch (cause) {
      if (init.signal?.aborted) throw cause;
      throw new EnvironmentError("server_gone", `${root.origin} does not answer.`, {
        do: "Start its command again, and open the address that it prints.",
        cause,
      });
    }
  };
}

/** The gateway that sent the page. */
export function servedBackend(setting: PageSetting, key: string | null): PageBackend {
  return { kind: "served", setting, tab: null, fetch: serverFetch(key) };
}

/** True when the server takes the key. */
export async function acceptsKey(backend: PageBackend): Promise<boolean> {
  return (await backend.fetch("/studio/api/run")).status !== 401;
}

/** Starts the gateway of this tab. @throws LeydenError whatever it lacks */
export async function tabBackend(setting: PageSetting): Promise<PageBackend> {
  const single = isSingleFile();
  const assets: PageAssets = single ? await embeddedAssets() : { kind: "folder", base: pageBase() };
  const hasWorkers = !single && setting.selfSigned !== true && "serviceWorker" in navigator && isSecureContext;
  const { openTab } = await import("../tab/tab_host.ts");
  const tab = await openTab({ assets, serviceWorker: hasWorkers ? new URL("sw.js", pageBase()) : null });
  return { kind: "tab", setting, tab, fetch: (path, init) => tab.fetch(path, init) };
}

/** What an error says to people; answers of the gateway and thrown values alike. */
export function faultOf(thrown: unknown): RunFault {
  return asLeydenError(thrown).toJSON();
}

/** The fault in an answer that is not good. */
export async function faultIn(response: Response): Promise<RunFault> {
  const text = await response.text();
  try {
    const { error, detail } = JSON.parse(text) as { error?: Partial<RunFault>; detail?: unknown };
    if (typeof error?.message === "string") {
      return { code: error.code ?? String(response.status), message: error.message, do: error.do ?? "" };
    }
    if (typeof detail === "string") return { code: String(response.status), message: detail, do: "" };
  } catch {
    // Not JSON: the text itself is what was said.
  }
  return { code: String(response.status), message: text.slice(0, 500) || response.statusText, do: "" };
}
