/** What is kept of the lessons over a reload: answers, verdicts, finished runs, and the run that was started last. */
import { createStore, del, get, set } from "idb-keyval";
import { z } from "zod";
import { type LessonRun, type LessonRuns, lessonGroupsSchema, type Verdict } from "../../../schema/lesson.ts";

/** Values by key, as structured clones. */
export interface KeptValues {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): Promise<void>;
  del(key: string): Promise<void>;
}

/** How far a learner is in a lesson, but for the records of its runs. */
export interface LessonProgress {
  readonly answers: Readonly<Record<string, string>>;
  readonly verdicts: Readonly<Record<string, Verdict | undefined>>;
  readonly tiny: boolean;
}

/** A lesson as it was left. */
export interface KeptLesson extends LessonProgress {
  readonly runs: LessonRuns;
}

/** The run that lessons started last; the tab has one at a time. */
export interface StartedRun {
  /** Ids of the lesson, and of its experiment or exercise. */
  readonly lesson: string;
  readonly key: string;
  readonly overrides: Readonly<Record<string, unknown>>;
  /** It has finished, and what it recorded is among the lesson's runs. */
  readonly isKept: boolean;
}

const progressSchema = z.object({
  answers: z.record(z.string(), z.string()),
  verdicts: z.record(z.string(), z.object({ ok: z.boolean(), feedback: z.string() })),
  tiny: z.boolean(),
});

const line = z.record(z.string(), z.union([z.number(), z.string(), z.null()]));
const runSchema: z.ZodType<LessonRun> = z.object({ metrics: z.array(line), groups: lessonGroupsSchema });
const runsSchema = z.array(z.string());

const startedSchema: z.ZodType<StartedRun> = z.object({
  lesson: z.string(),
  key: z.string(),
  overrides: z.record(z.string(), z.unknown()),
  isKept: z.boolean(),
});

const startedKey = "started";
const progressKey = (lesson: string): string => `${lesson}/progress`;
/** Keys of the lesson's runs, in the order in which they ended first. */
const runsKey = (lesson: string): string => `${lesson}/runs`;
const runKey = (lesson: string, key: string): string => `${lesson}/run/${key}`;

/** The lessons' own part of the browser's database. */
export function browserValues(): KeptValues {
  // A run's record is too large for sessionStorage, and a page from a disk has no private file system.
  const store = createStore("leyden-lessons", "kept");
  return { get: (key) => get(key, store), set: (key, value) => set(key, value, store), del: (key) => del(key, store) };
}

/** Values in one place; what it refuses to keep or to delete is so in the page alone, over what is there. */
function overlaid(place: KeptValues, refused: () => void): KeptValues {
  // Undefined: deleted here, though the place still has it.
  const over = new Map<string, unknown>();
  const change = async (key: string, value: unknown, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      over.delete(key);
    } catch {
      over.set(key, value);
      refused();
    }
  };
  return {
    get: async (key) => {
      if (over.has(key)) return over.get(key);
      try {
        return await place.get(key);
      } catch {
        refused();
        return undefined;
      }
    },
    set: (key, value) => change(key, value, () => place.set(key, value)),
    del: (key) => change(key, undefined, () => place.del(key)),
  };
}

/** Keeps lessons: in the page alone where the browser refuses to store data, as it may in a private window. */
export class LessonMemory {
  private readonly values: KeptValues;
  private lasts = true;

  constructor(values: KeptValues) {
    this.values = overlaid(values, () => {
      this.lasts = false;
    });
  }

  /** False once the browser has refused: a reload then loses what is kept. */
  get isLasting(): boolean {
    return this.lasts;
  }

  /** The lesson as it was left; null when nothing is kept, or only what another version of the page wrote. */
  async read(lesson: string): Promise<KeptLesson | null> {
    const progress = progressSchema.safeParse(await this.values.get(progressKey(lesson)));
    const keys = await this.runKeys(lesson);
    if (!progress.success && keys.length === 0) return null;
    const { answers, verdicts, tiny } = progress.data ?? { answers: {}, verdicts: {}, tiny: false };
    const runs: Record<string, LessonRun> = {};
    for (const key of keys) {
      const run = runSchema.safeParse(await this.values.get(runKey(lesson, key)));
      if (run.success) runs[key] = run.data;
    }
    return { answers, verdicts, tiny, runs };
  }

  async keepProgress(lesson: string, { answers, verdicts, tiny }: LessonProgress): Promise<void> {
    const judged = Object.entries(verdicts).filter(([, verdict]) => verdict !== undefined);
    await this.values.set(progressKey(lesson), { answers, verdicts: Object.fromEntries(judged), tiny });
  }

  async keepRun(lesson: string, key: string, run: LessonRun): Promise<void> {
    await this.values.set(runKey(lesson, key), run);
    const keys = await this.runKeys(lesson);
    if (!keys.includes(key)) await this.values.set(runsKey(lesson), [...keys, key]);
  }

  /** Null when none was started, or the last one was stopped or has failed. */
  async started(): Promise<StartedRun | null> {
    return startedSchema.safeParse(await this.values.get(startedKey)).data ?? null;
  }

  async keepStarted(run: StartedRun | null): Promise<void> {
    await (run === null ? this.values.del(startedKey) : this.values.set(startedKey, run));
  }

  /** Forgets answers and runs of a lesson, and that its last one was started. */
  async forget(lesson: string): Promise<void> {
    if ((await this.started())?.lesson === lesson) await this.keepStarted(null);
    for (const key of await this.runKeys(lesson)) await this.values.del(runKey(lesson, key));
    await this.values.del(runsKey(lesson));
    await this.values.del(progressKey(lesson));
  }

  private async runKeys(lesson: string): Promise<string[]> {
    return runsSchema.safeParse(await this.values.get(runsKey(lesson))).data ?? [];
  }
}
