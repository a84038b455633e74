import type { Browser, Page } from "playwright-core";

/** An event of Chromium's trace; times in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Time that the thread itself had the processor. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Milliseconds of processor time that the pages' main threads spent on tasks. */
export interface ThreadTime {
  readonly total: number;
  readonly longest: number;
}

/**
 * What a page's main thread computes while something is done, in time that the thread had the processor: on a machine that
 * others use too, the time by the clock is not all its own.
 */
export async function threadTime(browser: Browser, page: Page, work: () => Promise<void>): Promise<ThreadTime> {
  await browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline"] });
  await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const key = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const mains = traceEvents.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  const main = new Set(mains.map(key));
  const tasks = traceEvents.filter((event) => event.name === "RunTask" && event.ph === "X" && main.has(key(event)));
  const times = tasks.map(({ tdur = Number.NaN }) => tdur / 1000);
  if (times.length === 0) throw new Error("The trace tells of no task of the page.");
  return { total: times.reduce((a, b) => a + b, 0), longest: Math.max(...times) };
}
