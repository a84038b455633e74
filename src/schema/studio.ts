/** What the studio asks of a run beyond its store: numbers over time, advantages, and how its tokens are text. */
import type { DeviceTimeline } from "./device_timeline.ts";
import type { ExperimentConfig } from "./experiment.ts";

/** One line of metrics.jsonl. */
export type MetricsRecord = Readonly<Record<string, number | string | null>>;

/** What one rollout of a group comes to. */
export interface RolloutCredit {
  id: string;
  /** Null when there is none; see `filled`. */
  reward: number | null;
  /** The reward that training takes in its place, where it is missing. */
  filled: number | null;
  /** What the reward is compared with: the group's mean, or the estimator's own baseline where that differs. */
  baseline: number | null;
  /** Mean over its sampled tokens; null when it is not trained. */
  advantage: number | null;
  /** Sampled tokens in the update's denominators. */
  tokens: number;
  /** Why it is not trained, as metrics.jsonl counts it; null when it is. */
  excluded: string | null;
}

/** What the device would have to say, or another group, for advantages that are exactly the run's. */
export type CreditGap = "critic" | "kl_in_reward" | "correction" | "batch";

/** A group's rewards and what the run's estimator makes of them. */
export interface GroupCredit {
  group: string;
  task: string;
  mode: "train" | "val";
  /** Update that trained it; null while it waits, and for validation. */
  update: number | null;
  /** Name and level as in the configuration; "" where the run has none. */
  estimator: string;
  level: string;
  mean: number | null;
  /** Unbiased; null below two rewards. */
  std: number | null;
  rollouts: RolloutCredit[];
  /** By call: one advantage of all its sampled tokens, or one per token. Calls that are not trained are absent. */
  calls: Record<string, number | number[]>;
  gaps: CreditGap[];
}

/** Another run that this one can be compared with. */
export interface RunName {
  id: string;
  /** Updates that its metrics know. */
  updates: number;
}

/** A run as the studio reads it. */
export interface StudioSource {
  readonly name: string;
  /** Null where no experiment is behind the calls. */
  readonly config: ExperimentConfig | null;
  /** Lines of metrics.jsonl with a step after `after`; of another run by its id. @throws FormatError "run_missing" */
  metrics(after: number, run?: string): Promise<MetricsRecord[]>;
  /** Runs beside this one, newest first. */
  runs(): Promise<RunName[]>;
  /** The configuration of another run; null where it kept none. @throws FormatError "run_missing", "run_config" */
  configOf(run: string): Promise<ExperimentConfig | null>;
  /** Update that trained each group, by group. */
  updates(): Promise<ReadonlyMap<string, number>>;
  /** `rewards` stand in for recorded ones, by rollout; nothing is written. Null when there is no such group. */
  credit(group: string, rewards?: Readonly<Record<string, number>>): Promise<GroupCredit | null>;
  /** What the device did, as the run's folder keeps it; what is under way is not in it yet. */
  timeline(): Promise<DeviceTimeline>;
  /** Bytes of one token, where no model is served that knows them; absent when nobody does. */
  tokenBytes?(id: number): Uint8Array;
}
