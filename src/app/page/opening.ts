import type { PageSetting } from "../../schema/page_setting.ts";
import type { RunFault } from "../../schema/run_control.ts";
import { acceptsKey, faultOf, type PageBackend, readSetting, servedBackend, tabBackend } from "./backend.ts";
import { findObstacle } from "./environment.tsx";
import { keepStored } from "./lasting_storage.ts";
import { keepKey } from "./preferences.ts";
import { RunFeed } from "./run_feed.ts";
import { keepScreenOn } from "./screen_wake_lock.ts";

/** How far the page has come in finding what it talks to. */
export type Opening =
  | { readonly state: "opening" }
  | { readonly state: "locked"; readonly setting: PageSetting }
  | { readonly state: "blocked"; readonly fault: RunFault; readonly setting: PageSetting | null }
  | { readonly state: "open"; readonly backend: PageBackend; readonly feed: RunFeed };

function opened(backend: PageBackend): Opening {
  return { state: "open", backend, feed: new RunFeed(backend) };
}

/** Opens this tab's own gateway, or says what this browser lacks. */
export async function openTabHere(setting: PageSetting): Promise<Opening> {
  try {
    const obstacle = await findObstacle();
    if (obstacle !== null) return { state: "blocked", fault: obstacle, setting };
    const backend = await tabBackend(setting);
    if (backend.tab !== null) {
      keepScreenOn(backend.tab);
      keepStored(backend.tab);
    }
    return opened(backend);
  } catch (thrown) {
    return { state: "blocked", fault: faultOf(thrown), setting };
  }
}

/** Opens the server's run; null when it does not take the key. */
async function openServed(setting: PageSetting, key: string | null): Promise<Opening | null> {
  const backend = servedBackend(setting, key);
  if (setting.needsKey && (key === null || !(await acceptsKey(backend)))) return null;
  if (key !== null) keepKey(key);
  return opened(backend);
}

/** Opens the server's run with a key that was typed, or says why it cannot be asked; null when it does not take the key. */
export async function openWithKey(setting: PageSetting, key: string): Promise<Opening | null> {
  try {
    return await openServed(setting, key);
  } catch (thrown) {
    return { state: "blocked", fault: faultOf(thrown), setting: null };
  }
}

/** Finds out how the page is served, and opens what it talks to. */
export async function openPage(key: string | null): Promise<Opening> {
  try {
    const setting = await readSetting();
    if (setting.kind === "tab" || setting.kind === "relay") return await openTabHere(setting);
    return (await openServed(setting, key)) ?? { state: "locked", setting };
  } catch (thrown) {
    return { state: "blocked", fault: faultOf(thrown), setting: null };
  }
}
