/** The program of a report: shows the run that stands in the same file. */
import { createRoot } from "hono/jsx/dom/client";
import type { Clock } from "../../../src/core/clock.ts";
import { CancelledError } from "../../../src/core/errors.ts";
import type { StudioSnapshot } from "../../../src/schema/studio_api.ts";
import { mountStudio } from "./mount.tsx";
import { ReportBar, type Theme } from "./report_bar.tsx";
import type { Language } from "./texts.ts";

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

const data = JSON.parse(document.getElementById("snapshot")?.textContent ?? "null") as StudioSnapshot;
const root = document.getElementById("studio") ?? document.body.appendChild(document.createElement("div"));
const bar = createRoot(root.appendChild(document.createElement("div")));
const place = root.appendChild(document.createElement("main"));
const refuse = (): Promise<Response> => Promise.reject(new TypeError("A report asks nobody."));

let language: Language = navigator.language.startsWith("ko") ? "ko" : "en";
let theme: Theme = "system";
let mounted = show();

function show(): { close(): void } {
  document.documentElement.lang = language;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const onTheme = (next: Theme): void => {
    theme = next;
    again();
  };
  const onLanguage = (next: Language): void => {
    language = next;
    again();
  };
  bar.render(ReportBar({ name: data.run.name, language, theme, onLanguage, onTheme }));
  return mountStudio(place, { fetch: refuse, language, clock, static: data });
}

function again(): void {
  mounted.close();
  mounted = show();
}
