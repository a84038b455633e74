/** Lessons as data: a question, runs of one small experiment, what to read off them, and exercises with checks. */
import { z } from "zod";
import type { BreakReason } from "./chat.ts";

/** A recorded call with what its text says. The first three lists are parallel to `replyIds`. */
export interface LessonCall {
  id: string;
  attempt: string;
  key: string;
  promptIds: readonly number[];
  replyIds: readonly number[];
  logprobs: readonly number[];
  versions: readonly number[];
  breakReason: BreakReason | null;
  /** The call whose tokens this one's prompt begins with, and how many they are. */
  parent: string | null;
  prefixLength: number;
  /** Text of the reply without its stop token, and of each of its tokens. */
  text: string;
  tokens: readonly string[];
  /** Ids of that text when it is encoded again, without the stop token. */
  encodedIds: readonly number[];
  /** The reply's last token ended it, and is no part of the text. */
  stopped: boolean;
}

/** A rollout with its reward; null when there was none. */
export interface LessonRollout {
  id: string;
  attempt: string;
  status: "succeeded" | "failed" | "timed_out";
  reward: number | null;
  input: Readonly<Record<string, unknown>>;
  hidden: Readonly<Record<string, unknown>>;
  /** In the order in which they were answered. */
  calls: readonly LessonCall[];
}

/** Rollouts of one task, and the update that trained them (from 1 on). */
export interface LessonGroup {
  id: string;
  update: number;
  rollouts: readonly LessonRollout[];
}

/** What is known of a run: a line of metrics.jsonl per update, and its trained groups. */
export interface LessonRun {
  metrics: readonly Readonly<Record<string, number | string | null>>[];
  groups: readonly LessonGroup[];
}

/** Finished runs of a lesson by the key of their experiment or exercise. */
export type LessonRuns = Readonly<Record<string, LessonRun | undefined>>;

/** Id under which a tab runs the lessons' base experiment: a person's own runs of it are elsewhere, and stay. */
export const lessonExperimentId = "lesson";

/** A run of the lessons' base experiment with other values, by dotted path. */
export interface LessonExperiment {
  key: string;
  overrides: Readonly<Record<string, unknown>>;
}

/** A number that the lesson's texts name as {KEY}: it belongs to the configuration of one of its experiments. */
export interface LessonPlace {
  key: string;
  experiment: string;
  /** Reads the number; `valueAt` gives the configuration's value at a dotted path. */
  read(valueAt: (path: string) => unknown): number;
}

/** A number read off each run; null where it cannot be told. */
export interface Observation {
  key: string;
  /** Digits after the point. */
  digits: number;
  read(run: LessonRun): number | null;
}

/** A metric to draw over the updates, one line per run. */
export interface LessonCurve {
  key: string;
  /** Name of a metric, as in metrics.jsonl. */
  metric: string;
}

/** A table that shows something of the runs: keys of the column titles, and cells as text. */
export interface ExhibitTable {
  columns: readonly string[];
  rows: readonly (readonly string[])[];
  /** Where the studio shows more of it, while it shows this run: "rollouts/ID" or "groups/ID". */
  studio?: { run: string; route: string };
}

/** Something to look at closely; null until the runs it needs are there. */
export interface Exhibit {
  key: string;
  show(runs: LessonRuns): ExhibitTable | null;
}

/** What a check says: right or not, and the key of a text that says why. */
export interface Verdict {
  ok: boolean;
  feedback: string;
}

interface ExerciseBase {
  key: string;
  /** Judges an answer by the learner's own runs; `answer` is the option's key, the number's text, or the edited text. */
  check(answer: string, runs: LessonRuns): Verdict;
  /** A right answer for these runs: what the teacher's page shows. */
  solution(runs: LessonRuns): string;
}

/** One of several answers, by their keys. */
export interface ChoiceExercise extends ExerciseBase {
  kind: "choice";
  options: readonly string[];
}

/** A number to be found in the runs. */
export interface NumberExercise extends ExerciseBase {
  kind: "number";
}

/** A value of the configuration, or the reward, to be changed; the run with it is kept under the exercise's key. */
export interface EditExercise extends ExerciseBase {
  kind: "edit-config" | "edit-reward";
  /** Key of the experiment whose overrides the run starts from. */
  from: string;
  /** Dotted path of the value; for a reward that of its expression's options. */
  path: string;
  /** The text to begin with; JSON for a value. */
  initial: string;
}

/** One of the lesson's experiments to be run and looked at. */
export interface RunExercise extends ExerciseBase {
  kind: "run";
  experiment: string;
}

/** An exercise with its check. */
export type Exercise = ChoiceExercise | NumberExercise | EditExercise | RunExercise;

/** A lesson. Every key is one of its texts, in each language. */
export interface Lesson {
  id: string;
  number: number;
  /** Paragraphs before the experiment. */
  parts: readonly string[];
  experiments: readonly LessonExperiment[];
  /** Values that make every run of the lesson tiny, for tests. */
  toy: Readonly<Record<string, unknown>>;
  /** What of the texts depends on the size of its runs. */
  places?: readonly LessonPlace[];
  observations: readonly Observation[];
  curves: readonly LessonCurve[];
  exhibits: readonly Exhibit[];
  exercises: readonly Exercise[];
}

/** Texts of a lesson, or of the pages around it, by key; blank lines part paragraphs, backticks mark code. */
export type LessonTexts = Readonly<Record<string, string>>;

/** Languages that every text exists in. */
export const lessonLanguages = ["en", "ko"] as const;

/** A language of `lessonLanguages`. */
export type LessonLanguage = (typeof lessonLanguages)[number];

const key = z.string().regex(/^[a-z][A-Za-z0-9]*$/);
const keys = z.array(key);
const overrides = z.record(z.string().regex(/^(seed|[a-z]+(\.[A-Za-z0-9]+)+)$/), z.unknown());
const callable = <T>(): z.ZodType<T> => z.custom<T>((value) => typeof value === "function");
const judged = { key, check: callable<ExerciseBase["check"]>(), solution: callable<ExerciseBase["solution"]>() };

const exerciseSchema: z.ZodType<Exercise> = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("choice"), ...judged, options: keys.min(2) }),
  z.strictObject({ kind: z.literal("number"), ...judged }),
  z.strictObject({
    kind: z.enum(["edit-config", "edit-reward"]),
    ...judged,
    from: key,
    path: z.string(),
    initial: z.string(),
  }),
  z.strictObject({ kind: z.literal("run"), ...judged, experiment: key }),
]);

/** Checks a lesson's form. */
export const lessonSchema: z.ZodType<Lesson> = z.strictObject({
  id: z.string().regex(/^\d\d-[a-z]+$/),
  number: z.number().int().min(1),
  parts: keys.min(1),
  experiments: z.array(z.strictObject({ key, overrides })).min(1),
  toy: overrides,
  places: z.array(z.strictObject({ key, experiment: key, read: callable<LessonPlace["read"]>() })).optional(),
  observations: z
    .array(z.strictObject({ key, digits: z.number().int().min(0), read: callable<Observation["read"]>() }))
    .min(1),
  curves: z.array(z.strictObject({ key, metric: z.string() })),
  exhibits: z.array(z.strictObject({ key, show: callable<Exhibit["show"]>() })),
  exercises: z.array(exerciseSchema).min(2),
});

const numbers = z.array(z.number());
const anyObject = z.record(z.string(), z.unknown());

const callSchema: z.ZodType<LessonCall> = z.object({
  id: z.string(),
  attempt: z.string(),
  key: z.string(),
  promptIds: numbers,
  replyIds: numbers,
  logprobs: numbers,
  versions: numbers,
  breakReason: z.enum(["template", "retokenised", "edited", "compaction", "side", "unknown"]).nullable(),
  parent: z.string().nullable(),
  prefixLength: z.number(),
  text: z.string(),
  tokens: z.array(z.string()),
  encodedIds: numbers,
  stopped: z.boolean(),
});

/** For pages: what the gateway answers. */
export const lessonGroupsSchema: z.ZodType<LessonGroup[]> = z.array(
  z.object({
    id: z.string(),
    update: z.number(),
    rollouts: z.array(
      z.object({
        id: z.string(),
        attempt: z.string(),
        status: z.enum(["succeeded", "failed", "timed_out"]),
        reward: z.number().nullable(),
        input: anyObject,
        hidden: anyObject,
        calls: z.array(callSchema),
      }),
    ),
  }),
);
