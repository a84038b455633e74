import { FormatError } from "../core/errors.ts";
import type { DeviceTimeline } from "../schema/device_timeline.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Files } from "../schema/files.ts";
import type { Store } from "../schema/store.ts";
import type { GroupCredit, MetricsRecord, RunName, StudioSource } from "../schema/studio.ts";
import { readRunConfig } from "./config.ts";
import { groupCredit, needsWholeUpdate } from "./group_credit.ts";
import { readRollout } from "./groups.ts";
import { readTimeline, timelineFileName } from "./timeline_file.ts";

/** What a view of a run reads. */
export interface RunViewDeps {
  readonly store: Store;
  readonly files: Files;
  /** Folder of the run; empty where there is none, as behind `leyden serve`. */
  readonly runFolder: string;
  readonly name: string;
  readonly config: ExperimentConfig | null;
  readonly tokenBytes?: (id: number) => Uint8Array;
}

/** Rollouts of one group that are read at most. */
const largestGroup = 4096;

/** A run for the studio: its store, its folder, and the algorithms that its configuration names. */
export class RunView implements StudioSource {
  readonly name: string;
  readonly config: ExperimentConfig | null;
  readonly tokenBytes?: (id: number) => Uint8Array;
  private readonly deps: RunViewDeps;
  private readonly trained = new Map<string, number>();
  private notedTo = 0;

  constructor(deps: RunViewDeps) {
    this.deps = deps;
    this.name = deps.name;
    this.config = deps.config;
    if (deps.tokenBytes !== undefined) this.tokenBytes = deps.tokenBytes;
  }

  async metrics(after: number, run?: string): Promise<MetricsRecord[]> {
    const folder = run === undefined ? this.deps.runFolder : await this.folderOf(run);
    const path = this.deps.files.join(folder, "metrics.jsonl");
    if (folder === "" || !(await this.deps.files.exists(path))) return [];
    const lines = (await this.deps.files.readText(path)).split("\n");
    // A resumed run writes updates again that it had to take again: the last line of a step is the one that counts.
    const bySteps = new Map(lines.flatMap(lineOf).map((line) => [line.step as number, line]));
    const kept = [...bySteps.values()].filter((line) => (line.step as number) > after);
    return kept.sort((a, b) => (a.step as number) - (b.step as number));
  }

  async runs(): Promise<RunName[]> {
    const { files, runFolder } = this.deps;
    if (runFolder === "") return [];
    const found: RunName[] = [];
    for (const { name, kind } of await files.list(this.parent())) {
      if (kind !== "folder" || name === this.ownName()) continue;
      const path = files.join(this.parent(), name, "metrics.jsonl");
      if (!(await files.exists(path))) continue;
      found.push({ id: name, updates: (await files.readText(path)).split("\n").flatMap(lineOf).length });
    }
    return found.reverse();
  }

  async configOf(run: string): Promise<ExperimentConfig | null> {
    return readRunConfig(this.deps.files, await this.folderOf(run));
  }

  async timeline(): Promise<DeviceTimeline> {
    const { files, runFolder } = this.deps;
    if (runFolder === "") return { spans: [], next: 0, dropped: 0 };
    return readTimeline(files, files.join(runFolder, timelineFileName));
  }

  async updates(): Promise<ReadonlyMap<string, number>> {
    for (const { seq, data } of await this.deps.store.notes("update", this.notedTo)) {
      this.notedTo = seq;
      const { update, groups } = (data ?? {}) as { update?: unknown; groups?: unknown };
      if (typeof update !== "number" || !Array.isArray(groups)) continue;
      for (const group of groups) this.trained.set(String(group), update);
    }
    return this.trained;
  }

  async credit(group: string, rewards: Readonly<Record<string, number>> = {}): Promise<GroupCredit | null> {
    const updates = await this.updates();
    const update = updates.get(group) ?? 0;
    const whole = this.config !== null && update > 0 && needsWholeUpdate(this.config);
    const names = whole ? [...updates].flatMap(([name, at]) => (at === update ? [name] : [])) : [group];
    const { rows } = await this.deps.store.summaries({ groups: names, limit: largestGroup * names.length });
    const mode = rows.find((line) => line.group === group)?.mode;
    if (mode === undefined) return null;
    const groups = await Promise.all(
      names.map(async (id) => {
        const lines = rows.filter((line) => line.group === id);
        const read = await Promise.all(lines.map((line) => readRollout(this.deps.store, line.id)));
        const rollouts = read.map((rollout) => ({ ...rollout, reward: rewards[rollout.id] ?? rollout.reward }));
        return { id, task: lines[0]?.task ?? "", rollouts };
      }),
    );
    return groupCredit(this.config, { group, groups, update, mode });
  }

  private parent(): string {
    return this.deps.files.join(this.deps.runFolder, "..");
  }

  private ownName(): string {
    return this.deps.runFolder.split(/[/\\]/).findLast((part) => part !== "") ?? "";
  }

  /** @throws FormatError "run_missing" for a name that is none of `runs` */
  private async folderOf(run: string): Promise<string> {
    if ((await this.runs()).some(({ id }) => id === run)) return this.deps.files.join(this.parent(), run);
    throw new FormatError("run_missing", `There is no run "${run}" beside this one.`, {
      do: "Name one of GET /studio/api/runs.",
      data: { run },
    });
  }
}

/** A line of metrics.jsonl; none for a torn one. */
function lineOf(text: string): MetricsRecord[] {
  try {
    const line = JSON.parse(text) as MetricsRecord | null;
    return typeof line?.step === "number" ? [line] : [];
  } catch {
    return [];
  }
}
