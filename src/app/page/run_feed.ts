import { LeydenError } from "../../core/errors.ts";
import { knownStatus } from "../../schema/known_status.ts";
import type { ControlRequest, ExperimentChoice, RunFault, RunStatus } from "../../schema/run_control.ts";
import type { StudioChanges, StudioRun } from "../../schema/studio_api.ts";
import { faultIn, faultOf, type PageBackend } from "./backend.ts";

/** One line of the run's metrics. */
export type MetricsLine = Readonly<Record<string, number | string | null>>;

/** What is known of the run. */
export interface RunView {
  /** False until the gateway has told what may be started, and which run there is. */
  readonly isKnown: boolean;
  /** Null while none is served. */
  readonly run: StudioRun | null;
  /** Null until the gateway has answered, and where nobody steers the run. */
  readonly status: RunStatus | null;
  readonly choices: readonly ExperimentChoice[];
  /** One line per finished update: none beyond those that the status counts. */
  readonly lines: readonly MetricsLine[];
  /** Why the gateway cannot be asked; null when it answers. */
  readonly fault: RunFault | null;
}

/** How long the gateway may wait for news before it answers, and the pause after an answer that failed. */
const waitSeconds = 20;
const retryMs = 2_000;
/** News come in bursts while agents run; the page needs them no faster. */
const restMs = 250;

function lastStep(lines: readonly MetricsLine[]): number {
  return Number(lines.at(-1)?.step ?? 0);
}

/** The lines of updates that the status counts: an update's line is written a little before it has finished. */
export function finishedLines(lines: readonly MetricsLine[], status: RunStatus | null): readonly MetricsLine[] {
  return status === null ? lines : lines.filter(({ step }) => Number(step) <= status.update);
}

/** Follows a run through the gateway's routes, and steers it. */
export class RunFeed {
  private current: RunView = { isKnown: false, run: null, status: null, choices: [], lines: [], fault: null };
  private readonly listeners = new Set<() => void>();
  private readonly backend: Pick<PageBackend, "fetch">;
  private readonly stop = new AbortController();
  private wake: () => void = () => undefined;
  /** The run, and where it stood, when it was read what it is and what may be started. */
  private readAt = "";

  constructor(backend: Pick<PageBackend, "fetch">) {
    this.backend = backend;
    void this.follow();
  }

  view(): RunView {
    return this.current;
  }

  /** Calls `told` after every change, until the returned function is called. */
  subscribe(told: () => void): () => void {
    this.listeners.add(told);
    return () => this.listeners.delete(told);
  }

  /** Asks something of the run; null when it was done. */
  async control(request: ControlRequest): Promise<RunFault | null> {
    try {
      const response = await this.backend.fetch("/studio/api/control", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request),
      });
      if (!response.ok) return await faultIn(response);
      const status = (await response.json()) as RunStatus;
      this.change({ status, lines: await this.linesNow(status) });
      return null;
    } catch (thrown) {
      return faultOf(thrown);
    }
  }

  /** Reads again what may be started and continued: where a run was brought in or deleted. */
  async refresh(): Promise<void> {
    try {
      const { choices } = await this.read<{ choices: ExperimentChoice[] }>("choices");
      this.change({ choices });
    } catch (thrown) {
      if (!this.stop.signal.aborted) this.change({ fault: faultOf(thrown) });
    }
  }

  close(): void {
    this.stop.abort();
    this.wake();
    this.listeners.clear();
  }

  private change(part: Partial<RunView>): void {
    this.current = { ...this.current, ...part };
    for (const told of this.listeners) told();
  }

  private async follow(): Promise<void> {
    let cursor = -1;
    while (!this.stop.signal.aborted) {
      try {
        const known = cursor < 0 ? "" : `&known=${knownStatus(this.current.status)}`;
        const news = await this.read<StudioChanges>(`changes?after=${cursor}&wait_seconds=${waitSeconds}${known}`);
        const isNews = cursor < 0 || (news.status === null ? news.updated : this.isOther(news.status));
        cursor = news.cursor;
        await this.readAnew(news.status);
        const lines = isNews ? await this.linesNow(news.status) : this.current.lines;
        this.change({ isKnown: true, status: news.status, lines, fault: null });
        await this.pause(restMs);
      } catch (thrown) {
        if (this.stop.signal.aborted) return;
        this.change({ fault: faultOf(thrown) });
        await this.pause(retryMs);
      }
    }
  }

  /**
   * What may be started, and the run: where another is at work, or the same has come to another phase or lost its model.
   */
  private async readAnew(status: RunStatus | null): Promise<void> {
    const at = JSON.stringify([status?.experiment, status?.phase, status?.modelOpen]);
    const isOther = at !== this.readAt;
    if (!isOther && this.current.run !== null) return;
    const { choices } = isOther ? await this.read<{ choices: ExperimentChoice[] }>("choices") : this.current;
    const run = await this.readIfServed<StudioRun>("run");
    this.readAt = at;
    this.change({ choices, run });
  }

  /** True when the status tells of updates that the lines do not have, or of a run that has started over. */
  private isOther(status: RunStatus | null): boolean {
    return status !== null && status.update !== lastStep(this.current.lines);
  }

  private async linesNow(status: RunStatus | null): Promise<readonly MetricsLine[]> {
    const { lines } = this.current;
    const startedOver = status !== null && status.update < lastStep(lines);
    const kept = startedOver ? [] : lines;
    const after = kept.length === 0 ? -1 : lastStep(kept);
    const answer = await this.readIfServed<{ lines: MetricsLine[] }>(`metrics?after=${after}`);
    return finishedLines([...kept, ...(answer?.lines ?? [])], status);
  }

  /** Null while no run is served, as before the first one is started. */
  private async readIfServed<T>(path: string): Promise<T | null> {
    try {
      return await this.read<T>(path);
    } catch (thrown) {
      if (thrown instanceof LeydenError && thrown.code === "404") return null;
      throw thrown;
    }
  }

  private async read<T>(path: string): Promise<T> {
    const response = await this.backend.fetch(`/studio/api/${path}`, { signal: this.stop.signal });
    if (response.ok) return (await response.json()) as T;
    const { code, message, do: advice } = await faultIn(response);
    throw new LeydenError(code, message, { do: advice });
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
