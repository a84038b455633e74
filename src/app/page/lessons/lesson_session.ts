/** One learner's way through a lesson: runs, answers, verdicts. It outlives the view, and what it keeps the page. */
import type { Exercise, Lesson, LessonExperiment, LessonRun, LessonRuns, Verdict } from "../../../schema/lesson.ts";
import { lessonExperimentId } from "../../../schema/lesson.ts";
import { isAlive, isOver, type RunFault, type RunStatus } from "../../../schema/run_control.ts";
import { editedExperiment, toyExperiment } from "../../lesson/experiments.ts";
import { faultOf } from "../backend.ts";
import { finishedLines } from "../run_feed.ts";
import { type Ask, LessonGateway, type MetricsLines, noNews, type RunNews } from "./lesson_gateway.ts";
import type { LessonMemory, StartedRun } from "./lesson_memory.ts";
import { isThatRun, lostCode, runLost } from "./started_run.ts";

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
  /** What an earlier page kept is here. */
  readonly isRestored: boolean;
  readonly runs: LessonRuns;
  readonly active: ActiveRun | null;
  /** A run that is no run of this lesson, and stands in the way of one; null for none. */
  readonly other: Pick<RunStatus, "phase" | "update" | "updates"> | null;
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
  /** False where the browser keeps nothing: a reload loses answers and results. */
  readonly isLasting: boolean;
}

/** A lesson that nobody has begun. */
export const freshLesson: LessonState = {
  isRestored: false,
  runs: {},
  active: null,
  other: null,
  fault: null,
  answers: {},
  verdicts: {},
  latest: null,
  canStart: true,
  tiny: false,
  isLasting: true,
};

/** True while a run is at work, of the lesson or not: nothing else can begin. */
export function isBusy({ active, other }: LessonState): boolean {
  return active !== null || other !== null;
}

const waitSeconds = 10;
/** How often a run that a reload has cut off is looked for, a second apart at most, until it goes on. */
const goOnLooks = 6;

/** Goes through one lesson. */
export class LessonSession {
  private readonly gateway: LessonGateway;
  private readonly memory: LessonMemory;
  private readonly lesson: Lesson;
  private readonly listeners = new Set<() => void>();
  private state: LessonState = freshLesson;
  private isLooking = false;

  constructor(lesson: Lesson, ask: Ask, memory: LessonMemory) {
    this.lesson = lesson;
    this.gateway = new LessonGateway(ask);
    this.memory = memory;
  }

  set ask(ask: Ask) {
    this.gateway.ask = ask;
  }

  view(): LessonState {
    return this.state;
  }

  /** Calls `told` after every change, until the returned function is called. */
  subscribe(told: () => void): () => void {
    this.listeners.add(told);
    return () => this.listeners.delete(told);
  }

  /**
   * Takes up what an earlier page kept, and finds out whether runs can be started here. A run of this lesson that is at
   * work is followed to its end, and kept; another one until it makes way.
   */
  async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      await this.restore();
      const { canStart, status } = await this.gateway.standing();
      this.change({ canStart });
      if (canStart && status !== null) await this.join(status);
    } catch (thrown) {
      this.fail("", faultOf(thrown));
    }
    this.isLooking = false;
  }

  async setTiny(tiny: boolean): Promise<void> {
    this.change({ tiny });
    await this.keepProgress();
  }

  /** Runs an experiment to its end and keeps what it recorded. */
  async run(experiment: LessonExperiment): Promise<void> {
    if (isBusy(this.state)) return;
    const { key, overrides } = this.state.tiny ? toyExperiment(this.lesson, experiment) : experiment;
    const started = { lesson: this.lesson.id, key, overrides, isKept: false };
    await this.following(started, async () => {
      await this.memory.keepStarted(started);
      await this.gateway.control({ action: "start", experiment: lessonExperimentId, overrides });
    });
    // Somebody else has started one meanwhile.
    if (this.state.fault?.code === "run_phase" || this.state.fault?.code === lostCode) void this.look();
  }

  /** Ends the run under way, whoever has started it; it is not kept. */
  async stop(): Promise<void> {
    try {
      await this.gateway.control({ action: "stop" });
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
    await this.keepProgress();
    if (exercise.kind === "edit-config" || exercise.kind === "edit-reward") {
      try {
        await this.run(editedExperiment(this.lesson, exercise, text));
      } catch (thrown) {
        this.fail(key, faultOf(thrown));
      }
      if (this.state.fault !== null || this.state.latest !== key) return;
    }
    await this.judge(exercise, text);
  }

  /** Forgets answers, results and the size of runs; nothing happens while a run is under way. */
  async startOver(): Promise<void> {
    if (isBusy(this.state)) return;
    this.change({ runs: {}, answers: {}, verdicts: {}, latest: null, fault: null, tiny: false });
    await this.memory.forget(this.lesson.id);
    this.change({ isLasting: this.memory.isLasting });
  }

  private async judge(exercise: Exercise, text: string): Promise<void> {
    this.change({ verdicts: { ...this.state.verdicts, [exercise.key]: exercise.check(text, this.state.runs) } });
    await this.keepProgress();
  }

  private async restore(): Promise<void> {
    if (this.state.isRestored) return;
    const kept = await this.memory.read(this.lesson.id);
    const known = new Set([...this.lesson.experiments, ...this.lesson.exercises].map(({ key }) => key));
    const runs = Object.entries(kept?.runs ?? {}).filter(([key]) => known.has(key));
    this.change({ ...kept, runs: Object.fromEntries(runs), isRestored: true, isLasting: this.memory.isLasting });
  }

  private async keepProgress(): Promise<void> {
    await this.memory.keepProgress(this.lesson.id, this.state);
    this.change({ isLasting: this.memory.isLasting });
  }

  /** Takes the run that a status tells of for what it is: this lesson's, or one that stands in the way. */
  private async join(status: RunStatus): Promise<void> {
    const started = await this.memory.started();
    if (isBusy(this.state)) return;
    const isIts = started?.lesson === this.lesson.id && isThatRun(status, started, lessonExperimentId);
    this.change({ latest: isIts && started.isKept ? started.key : null });
    if (started?.lesson === this.lesson.id && !started.isKept) {
      if (isIts) {
        await this.pickUp(started, status);
        if (this.state.fault?.code === lostCode) await this.watch();
        return;
      }
      await this.memory.keepStarted(null);
      this.fail(started.key, faultOf(runLost()));
    }
    if (isAlive(status.phase)) await this.watch();
  }

  /** True when a run that was cut off is at work again. */
  private async goesOn(): Promise<boolean> {
    let news = noNews;
    for (let look = 0; look < goOnLooks; look++) {
      news = await this.gateway.news(news, 1);
      if (news.status?.phase !== "stopped") return true;
    }
    return false;
  }

  /** Follows a run that an earlier page has started. */
  private async pickUp(started: StartedRun, { phase }: RunStatus): Promise<void> {
    await this.following(started, async () => {
      if (phase === "stopped" && !(await this.goesOn())) throw runLost();
    });
    const { fault, latest, answers } = this.state;
    // The texts of a run go with its model.
    if (fault?.code === "404") this.fail(started.key, faultOf(runLost()));
    const exercise = this.lesson.exercises.find(({ key }) => key === started.key);
    if (exercise === undefined || latest !== started.key) return;
    await this.judge(exercise, answers[started.key] ?? "");
  }

  /** Waits until a run that is none of the lesson's makes way. */
  private async watch(): Promise<void> {
    try {
      for (let news: RunNews = noNews; ; ) {
        news = await this.gateway.news(news, waitSeconds);
        if (news.status === null || !isAlive(news.status.phase)) break;
        const { phase, update, updates } = news.status;
        this.change({ other: { phase, update, updates } });
      }
    } finally {
      this.change({ other: null });
    }
  }

  /** Begins a run, or does not where it is at work, follows it to its end and keeps what it recorded. */
  private async following(started: StartedRun, begin: () => Promise<void>): Promise<void> {
    const { lesson, key } = started;
    this.change({ active: { key, update: 0, updates: 0, lines: [] }, fault: null, latest: null });
    let isKept = false;
    try {
      await begin();
      if (await this.follow(started)) {
        const run = await this.recordOf(started);
        await this.memory.keepRun(lesson, key, run);
        isKept = true;
        this.change({ runs: { ...this.state.runs, [key]: run }, latest: key });
      }
    } catch (thrown) {
      this.fail(key, faultOf(thrown));
    }
    await this.memory.keepStarted(isKept ? { ...started, isKept } : null);
    this.change({ active: null, isLasting: this.memory.isLasting });
  }

  /** Until the run is over; false when it was stopped, or failed and the fault is told. */
  private async follow(started: StartedRun): Promise<boolean> {
    const { key } = started;
    for (let news: RunNews = noNews; ; ) {
      news = await this.gateway.news(news, waitSeconds);
      const { status } = news;
      if (status === null) return false;
      // A stop and a start elsewhere may come as one piece of news.
      if (!isThatRun(status, started, lessonExperimentId)) throw runLost();
      const { active } = this.state;
      const isKnown = status.update === (active?.update ?? 0);
      const lines = isKnown ? (active?.lines ?? []) : finishedLines(await this.gateway.lines(), status);
      this.change({ active: { key, update: status.update, updates: status.updates, lines } });
      if (status.phase === "failed" && status.error !== null) {
        this.fail(key, status.error);
        return false;
      }
      if (isOver(status.phase)) return status.phase === "finished";
    }
  }

  /** What a finished run recorded. @throws LeydenError "lesson_run_lost" when another one began before it was read */
  private async recordOf(started: StartedRun): Promise<LessonRun> {
    const record = await this.gateway.record();
    const { status } = await this.gateway.run();
    if (status?.phase === "finished" && isThatRun(status, started, lessonExperimentId)) return record;
    throw runLost();
  }

  private fail(key: string, fault: RunFault): void {
    this.change({ fault: { ...fault, key } });
  }

  private change(part: Partial<LessonState>): void {
    this.state = { ...this.state, ...part };
    for (const told of this.listeners) told();
  }
}
