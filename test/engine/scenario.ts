import type { Rng } from "../../src/core/rng.ts";
import type { DevicePolicy } from "../../src/schedule/device_schedule.ts";
import type { GroupPolicy } from "../../src/schedule/group_schedule.ts";

/** One random world. */
export interface Scenario {
  readonly groups: GroupPolicy;
  readonly device: DevicePolicy;
  readonly collects: boolean;
  /** Updates are taken as those with a critic are: a scoring pass and a step of the critic come first. */
  readonly critic: boolean;
  /** Turns of each rollout of each group: tool time and reply length. */
  readonly work: readonly (readonly (readonly { toolMs: number; tokens: number }[])[])[];
  /** Device operations at which the device is lost, updates whose gradient is no number. */
  readonly losses: readonly number[];
  readonly nanUpdates: readonly number[];
  /** Questions that others put to the models: when, what, and how many at once. */
  readonly questions: readonly { atMs: number; kind: "score" | "rows"; count: number }[];
  /** Calls that are cancelled after this time (0: before anything is done for them), and rollouts whose agent fails after so many calls. */
  readonly cancels: ReadonlyMap<string, number>;
  readonly failures: ReadonlyMap<string, number>;
}

/** A world drawn at random. */
export function randomScenario(rng: Rng): Scenario {
  const below = (n: number): number => rng.below(n);
  const tasksPerUpdate = 1 + below(3);
  const mode = (["sync", "collocated", "interleaved"] as const)[below(3)] as GroupPolicy["mode"];
  const maxAge = mode === "sync" ? 0 : ([0, 1, 2, Number.POSITIVE_INFINITY][below(4)] as number);
  const work = Array.from({ length: 1 + below(7) }, () =>
    Array.from({ length: 1 + below(2) }, () =>
      Array.from({ length: 1 + below(3) }, () => ({ toolMs: below(4) * below(12), tokens: 1 + below(14) })),
    ),
  );
  const calls = work.flatMap((rollouts, g) => rollouts.flatMap((turns, i) => turns.map((_, c) => `${g}-${i}-${c}`)));
  const some = <T>(chance: number, value: () => T): [string, T][] =>
    calls.filter(() => rng.uniform() < chance).map((call) => [call, value()]);
  const asks = (): Scenario["questions"][number] => ({
    atMs: below(120),
    kind: (["score", "rows"] as const)[below(2)] as "score" | "rows",
    count: 1 + below(4) * below(2),
  });
  const kv = (["keep", "recompute"] as const)[below(2)] as "keep" | "recompute";
  return {
    groups: { mode, tasksPerUpdate, activeGroups: tasksPerUpdate + 1 + below(3), maxAge },
    device: { inFlight: mode === "interleaved" ? kv : "drain", stepsPerQuantum: 1 + below(4) },
    collects: mode === "interleaved" && maxAge > 0,
    critic: below(3) === 0,
    work,
    losses: below(4) === 0 ? Array.from({ length: 1 + below(2) }, () => 1 + below(60)) : [],
    nanUpdates: below(4) === 0 ? [1 + below(3)] : [],
    questions: Array.from({ length: below(2) * below(6) }, asks),
    cancels: new Map(below(3) === 0 ? some(0.15, () => below(15)) : []),
    failures: new Map(below(3) === 0 ? some(0.1, () => 1).map(([call]) => [call.slice(0, -2), below(2)]) : []),
  };
}
