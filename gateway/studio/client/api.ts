import type { DeviceTimeline } from "../../../src/schema/device_timeline.ts";
import type { ExperimentConfig } from "../../../src/schema/experiment.ts";
import type { SummarySort } from "../../../src/schema/rollout_summary.ts";
import type { RunStatus } from "../../../src/schema/run_control.ts";
import type { GroupCredit, MetricsRecord, RunName } from "../../../src/schema/studio.ts";
import type {
  ForkRequest,
  StudioCall,
  StudioChanges,
  StudioFork,
  StudioPage,
  StudioRegrade,
  StudioRollout,
  StudioRun,
  StudioScore,
} from "../../../src/schema/studio_api.ts";

/** Filters of the rollout table as the address of the page holds them; empty texts keep everything. */
export interface TableFilters {
  state: string;
  mode: string;
  agent: string;
  task: string;
  group: string;
  update: string;
  reward_min: string;
  reward_max: string;
  breaks: string;
  text: string;
  sort: SummarySort;
  order: "asc" | "desc";
}

/** Lines of metrics, and the configuration where they are another run's. */
export interface MetricsAnswer {
  lines: MetricsRecord[];
  config?: ExperimentConfig;
}

/** What the studio shows, whether it is asked of a gateway or stands in a report. */
export interface StudioApi {
  /** False for a report: nothing changes, and nothing may be asked. */
  readonly isLive: boolean;
  run(): Promise<StudioRun>;
  metrics(after: number, run?: string): Promise<MetricsAnswer>;
  runs(): Promise<RunName[]>;
  rollouts(filters: TableFilters, offset: number, limit: number): Promise<StudioPage>;
  rollout(id: string): Promise<StudioRollout>;
  call(rollout: string, call: string, whole: boolean): Promise<StudioCall>;
  score(rollout: string, call: string): Promise<StudioScore>;
  fork(rollout: string, call: string, request: ForkRequest): Promise<StudioFork>;
  group(id: string): Promise<GroupCredit>;
  regrade(rollout: string, reward: number): Promise<StudioRegrade>;
  timeline(after: number): Promise<DeviceTimeline>;
  /** Waits for something to happen after `after`, or for a status other than `known`; -1 answers at once. */
  changes(after: number, known: RunStatus | null, signal: AbortSignal): Promise<StudioChanges>;
  /** The run as one file. */
  report(): Promise<Blob>;
}

/** A request that was answered with a refusal; its message is for people. */
export class StudioError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "StudioError";
    this.status = status;
  }
}
