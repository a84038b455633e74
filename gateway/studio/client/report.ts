/** The program of a report: shows the run that stands in the same file. */
import type { Clock } from "../../../src/core/clock.ts";
import { CancelledError } from "../../../src/core/errors.ts";
import type { StudioSnapshot } from "../../../src/schema/studio_api.ts";
import { mountStudio } from "./mount.tsx";

/** Resolves after `ms` by the page's own frames: nothing in a report waits for long. */
async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const frame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));
  const start = await frame();
  for (let now = start; now - start < ms; now = await frame()) {
    if (signal?.aborted) break;
  }
  if (signal?.aborted) throw new CancelledError("Waiting");
}

const clock: Clock = {
  now: () => performance.timeOrigin + Number(document.timeline.currentTime ?? 0),
  monotonic: () => Number(document.timeline.currentTime ?? 0),
  sleep,
};

const data = document.getElementById("snapshot")?.textContent ?? "";
const root = document.getElementById("studio") ?? document.body.appendChild(document.createElement("div"));
const language = navigator.language.startsWith("ko") ? "ko" : "en";
document.documentElement.lang = language;
const refuse = (): Promise<Response> => Promise.reject(new TypeError("A report asks nobody."));
mountStudio(root, { fetch: refuse, language, clock, static: JSON.parse(data) as StudioSnapshot });
