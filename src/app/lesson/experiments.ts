/** Which runs a lesson makes, and with which values. */

import { ConfigError } from "../../core/errors.ts";
import type { EditExercise, Lesson, LessonExperiment } from "../../schema/lesson.ts";

/** How a lesson is gone through without a page. */
export interface LessonPlan {
  readonly toy: boolean;
  /** Edited values are the exercises' solutions. */
  readonly solves: boolean;
  /** Answers by exercise; an edited value is one. */
  readonly answers: Readonly<Record<string, string>>;
}

/** The experiment that an edited value makes. @throws ConfigError when it is no JSON */
export function editedExperiment(lesson: Lesson, exercise: EditExercise, text: string): LessonExperiment {
  const from = lesson.experiments.find(({ key }) => key === exercise.from);
  return {
    key: exercise.key,
    overrides: { ...from?.overrides, [exercise.path]: editedValue(exercise, text) },
  };
}

function editedValue({ kind, key }: EditExercise, text: string): unknown {
  if (kind === "edit-reward") return { reward: text };
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConfigError(`The value of ${key} is not JSON: ${text}`, {
      do: 'Write a value as it stands in a configuration: 4, true, "sync" or { "NAME": "value" }.',
      cause,
    });
  }
}

/** A run with the lesson's tiny sizes; what the experiment itself is about stays. */
export function toyExperiment({ toy }: Lesson, { key, overrides }: LessonExperiment): LessonExperiment {
  return { key, overrides: { ...overrides, ...toy } };
}

/** Every run of a lesson: its experiments, then the exercises' edited ones that there is a value for. */
export function experimentsOf(lesson: Lesson, { toy, solves, answers }: LessonPlan): LessonExperiment[] {
  const edited = lesson.exercises.flatMap((exercise) => {
    if (exercise.kind !== "edit-config" && exercise.kind !== "edit-reward") return [];
    const text = solves ? exercise.solution({}) : answers[exercise.key];
    return text === undefined ? [] : [editedExperiment(lesson, exercise, text)];
  });
  const all = [...lesson.experiments, ...edited];
  return toy ? all.map((experiment) => toyExperiment(lesson, experiment)) : all;
}
