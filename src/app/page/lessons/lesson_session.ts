/** One learner's way through a lesson: runs, answers, verdicts. It outlives the view, which may be mounted anew. */

import { LeydenError } from "../../../core/errors.ts";
import { knownStatus } from "../../../schema/known_status.ts";
import type { Exercise, Lesson, LessonExperiment, LessonRun, LessonRuns, Verdict } from "../../../schema/lesson.ts";
import { lessonGroupsSchema } from "../../../schema/lesson.ts";
import type { RunFault, RunStatus } from "../../../schema/run_control.ts";
import { editedExperiment, toyExperiment } from "../../lesson/experiments.ts";
import { faultIn, faultOf } from "../backend.ts";
import { finishedLines } from "../run_feed.ts";

/** Asks the gateway; `path` begins with "/". */
export type Ask = (path: string, init?: RequestInit) => Promise<Response>;

/** Lines of metrics.jsonl. */
export type MetricsLines = LessonRun["metrics"];

/** A run under way. */
export interface ActiveRun {
  readonly key: string;
  readonly update: number;
  /** 0 until it is known. */
  readonly updates: number;
  readonly lines: MetricsLines;
}

/** What the view shows. */
export interface LessonState {
  readonly runs: LessonRuns;
  readonly active: ActiveRun | null;
  /** What went wrong last, and in which run. */
  readonly fault: (RunFault & { readonly key: string }) | null;
  readonly answers: Readonly<Record<string, string>>;
  readonly verdicts: Readonly<Record<string, Verdict | undefined>>;
  /** The run that the studio shows: the one that ended last, until another begins; null for none. */
  readonly latest: string | null;
  /** False where the gateway shows a run that a command started, and starts no other. */
  readonly canStart: boolean;
  /** Runs are tiny: a quick look at what a lesson does. */
  readonly tiny: boolean;
}

/** Id of the experiment that all lessons start from. */
const baseExperiment = "clerk";
const waitSeconds = 10;
const over: readonly RunStatus["phase"][] = ["finished", "stopped", "failed"];

/** Goes through one lesson. */
export class LessonSession {
  ask: Ask;
  private readonly lesson: Lesson;
  private readonly listeners = new Set<() => void>();
  private state: LessonState = {
    runs: {},
    active: null,
    fault: null,
    answers: {},
    verdicts: {},
    latest: null,
    canStart: true,
    tiny: false,
  };

  constructor(lesson: Lesson, ask: Ask) {
    this.lesson = lesson;
    this.ask = ask;
  }

  view(): LessonState {
    return this.state;
  }

  /** Calls `told` after every change, until the returned function is called. */
  subscribe(told: () => void): () => void {
    this.listeners.add(told);
    return () => this.listeners.delete(told);
  }

  /** Finds out whether runs can be started here. */
  async look(): Promise<void> {
    try {
      const { can } = await this.read<{ can: { start: boolean } }>("/studio/api/run");
      this.change({ canStart: can.start });
    } catch (thrown) {
      this.fail("", faultOf(thrown));
    }
  }

  setTiny(tiny: boolean): void {
    this.change({ tiny });
  }

  /** Runs an experiment to its end and keeps what it recorded. */
  async run(experiment: LessonExperiment): Promise<void> {
    if (this.state.active !== null) return;
    const { key, overrides } = this.state.tiny ? toyExperiment(this.lesson, experiment) : experiment;
    this.change({ active: { key, update: 0, updates: 0, lines: [] }, fault: null, latest: null });
    try {
      await this.post({ action: "start", experiment: baseExperiment, overrides });
      const finished = await this.follow(key);
      if (finished) this.change({ runs: { ...this.state.runs, [key]: await this.record() }, latest: key });
    } catch (thrown) {
      this.fail(key, faultOf(thrown));
    }
    this.change({ active: null });
  }

  /** Ends the run under way; it is not kept. */
  async stop(): Promise<void> {
    try {
      await this.post({ action: "stop" });
    } catch (thrown) {
      this.fail("", faultOf(thrown));
    }
  }

  /** Judges an answer; an edited value is run first. */
  async answer(exercise: Exercise, text: string): Promise<void> {
    const { key } = exercise;
    this.change({
      answers: { ...this.state.answers, [key]: text },
      verdicts: { ...this.state.verdicts, [key]: undefined },
    });
    if (exercise.kind === "edit-config" || exercise.kind === "edit-reward") {
      try {
        await this.run(editedExperiment(this.lesson, exercise, text));
      } catch (thrown) {
        this.fail(key, faultOf(thrown));
      }
      if (this.state.fault !== null || this.state.latest !== key) return;
    }
    this.change({ verdicts: { ...this.state.verdicts, [key]: exercise.check(text, this.state.runs) } });
  }

  private fail(key: string, fault: RunFault): void {
    this.change({ fault: { ...fault, key } });
  }

  private change(part: Partial<LessonState>): void {
    this.state = { ...this.state, ...part };
    for (const told of this.listeners) told();
  }

  /** Until the run is over; false when it was stopped. @throws LeydenError when it failed */
  private async follow(key: string): Promise<boolean> {
    let status: RunStatus | null = null;
    for (let cursor = -1; ; ) {
      const news: { cursor: number; status: RunStatus | null } = await this.read(
        `/studio/api/changes?after=${cursor}&wait_seconds=${waitSeconds}&known=${knownStatus(status)}`,
      );
      cursor = news.cursor;
      status = news.status;
      if (status === null) return false;
      const known = this.state.active?.update ?? 0;
      const isKnown = status.update === known;
      const lines = isKnown ? (this.state.active?.lines ?? []) : finishedLines(await this.lines(), status);
      this.change({ active: { key, update: status.update, updates: status.updates, lines } });
      if (status.phase === "failed" && status.error !== null) {
        this.fail(key, status.error);
        return false;
      }
      if (over.includes(status.phase)) return status.phase === "finished";
    }
  }

  private async record(): Promise<LessonRun> {
    const groups = lessonGroupsSchema.parse(await this.read<unknown>("/lesson/api/groups"));
    return { metrics: await this.lines(), groups };
  }

  private async lines(): Promise<MetricsLines> {
    return (await this.read<{ lines: MetricsLines }>("/studio/api/metrics?after=-1")).lines;
  }

  private async read<T>(path: string): Promise<T> {
    const response = await this.ask(path);
    if (!response.ok) throw asThrown(await faultIn(response));
    return (await response.json()) as T;
  }

  private async post(body: unknown): Promise<void> {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await this.ask("/studio/api/control", init);
    if (!response.ok) throw asThrown(await faultIn(response));
  }
}

/** A fault of the gateway as an error of the same code. */
function asThrown({ code, message, do: advice }: RunFault): LeydenError {
  return new LeydenError(code, message, { do: advice });
}
