/** A lesson's texts with the numbers of the runs that are made: they are other ones where runs are tiny. */
import clerkConfig from "../../../examples/lessons/clerk/config.json" with { type: "json" };
import { fillText } from "../../core/fill_text.ts";
import type { Lesson, LessonExperiment, LessonTexts } from "../../schema/lesson.ts";
import { toyExperiment } from "./experiments.ts";

/** Reads values of an experiment by dotted path: its own, else those of the configuration all lessons start from. */
function valuesOf({ overrides }: LessonExperiment): (path: string) => unknown {
  const baseAt = (path: string): unknown =>
    path.split(".").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], clerkConfig);
  return (path) => overrides[path] ?? baseAt(path);
}

/** The texts with what the lesson's places say of its runs. */
export function filledTexts(lesson: Lesson, texts: LessonTexts, toy: boolean): LessonTexts {
  const values: Record<string, number> = {};
  for (const { key, experiment, read } of lesson.places ?? []) {
    const run = lesson.experiments.find((candidate) => candidate.key === experiment) ?? {
      key: experiment,
      overrides: {},
    };
    values[key] = read(valuesOf(toy ? toyExperiment(lesson, run) : run));
  }
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, fillText(text, values)]));
}
