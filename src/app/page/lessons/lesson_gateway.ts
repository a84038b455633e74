/** What lessons ask of the gateway: to start and stop a run, where it stands, and what it recorded. */
import { LeydenError } from "../../../core/errors.ts";
import { knownStatus } from "../../../schema/known_status.ts";
import { type LessonRun, lessonGroupsSchema } from "../../../schema/lesson.ts";
import type { ControlRequest, ExperimentChoice, RunFault, RunStatus } from "../../../schema/run_control.ts";
import type { StudioRun } from "../../../schema/studio_api.ts";
import { faultIn } from "../backend.ts";

/** Asks the gateway; `path` begins with "/". */
export type Ask = (path: string, init?: RequestInit) => Promise<Response>;

/** Lines of metrics.jsonl. */
export type MetricsLines = LessonRun["metrics"];

/** Where the run stood at a cursor of its record. */
export interface RunNews {
  readonly cursor: number;
  /** Null where nobody steers a run. */
  readonly status: RunStatus | null;
}

/** Whether runs can be started here, and where the one stands that is shown. */
export interface Standing {
  readonly canStart: boolean;
  /** Null where nobody steers a run. */
  readonly status: RunStatus | null;
}

/** Before anything is known. */
export const noNews: RunNews = { cursor: -1, status: null };

/** Pause between two questions while no store is open. */
const betweenRunsMs = 300;

/** The gateway's routes as lessons use them. Every method throws LeydenError with the code of the gateway's refusal. */
export class LessonGateway {
  ask: Ask;

  constructor(ask: Ask) {
    this.ask = ask;
  }

  run(): Promise<StudioRun> {
    return this.read("/studio/api/run");
  }

  /** Where things stand; before a tab's first run there is none, and one can be started. */
  async standing(): Promise<Standing> {
    try {
      const { can, status } = await this.run();
      return { canStart: can.start, status };
    } catch (thrown) {
      if (!(thrown instanceof LeydenError) || thrown.code !== "404") throw thrown;
      const { choices } = await this.read<{ choices: ExperimentChoice[] }>("/studio/api/choices");
      return { canStart: choices.length > 0, status: (await this.news(noNews, 0)).status };
    }
  }

  /** What is other than what is known: at once, or when something happens, at the latest after `seconds`. */
  async news({ cursor, status }: RunNews, seconds: number): Promise<RunNews> {
    const known = `known=${knownStatus(status)}`;
    try {
      return await this.read(`/studio/api/changes?after=${cursor}&wait_seconds=${seconds}&${known}`);
    } catch (thrown) {
      if (!(thrown instanceof LeydenError) || thrown.code !== "store_closed") throw thrown;
      // The tab has closed what the last run left, and the next one is still being opened: its status is there already.
      await new Promise((resolve) => setTimeout(resolve, betweenRunsMs));
      return { cursor: noNews.cursor, status: (await this.standing()).status };
    }
  }

  async control(request: ControlRequest): Promise<void> {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(request) };
    const response = await this.ask("/studio/api/control", init);
    if (!response.ok) throw asThrown(await faultIn(response));
  }

  async record(): Promise<LessonRun> {
    const groups = lessonGroupsSchema.parse(await this.read<unknown>("/lesson/api/groups"));
    return { metrics: await this.lines(), groups };
  }

  async lines(): Promise<MetricsLines> {
    return (await this.read<{ lines: MetricsLines }>("/studio/api/metrics?after=-1")).lines;
  }

  private async read<T>(path: string): Promise<T> {
    const response = await this.ask(path);
    if (!response.ok) throw asThrown(await faultIn(response));
    return (await response.json()) as T;
  }
}

/** A fault of the gateway as an error of the same code. */
function asThrown({ code, message, do: advice }: RunFault): LeydenError {
  return new LeydenError(code, message, { do: advice });
}
