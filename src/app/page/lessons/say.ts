import { commonTexts, lessons, type PublishedLesson } from "../../../../examples/lessons/lessons.ts";
import type { Lesson, LessonLanguage } from "../../../schema/lesson.ts";

/** Says a lesson's texts, and those around the lessons. */
export interface SayLesson {
  (key: string): string;
  /** Name of a run: of an experiment, or of the exercise that edits one. */
  run(lesson: Lesson, key: string): string;
}

/** The texts of a lesson in a language; without one, those around the lessons. */
export function sayOf(published: PublishedLesson | null, language: LessonLanguage): SayLesson {
  const texts = { ...commonTexts[language], ...published?.texts[language] };
  const say = (key: string): string => texts[key] ?? key;
  const run = (lesson: Lesson, key: string): string =>
    lesson.experiments.some((experiment) => experiment.key === key) ? say(key) : say("yourRun");
  return Object.assign(say, { run });
}

/** A lesson by its id; null when there is none. */
export function findLesson(id: string): PublishedLesson | null {
  return lessons.find(({ lesson }) => lesson.id === id) ?? null;
}
