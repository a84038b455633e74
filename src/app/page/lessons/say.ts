import { commonTexts, lessons, type PublishedLesson } from "../../../../examples/lessons/lessons.ts";
import type { Lesson, LessonLanguage } from "../../../schema/lesson.ts";
import { filledTexts } from "../../lesson/filled_texts.ts";
import { type Say, textsOf } from "../texts.ts";

/** Says a lesson's texts, and those around the lessons. */
export interface SayLesson {
  (key: string): string;
  /** Name of a run: of an experiment, or of the exercise that edits one. */
  run(lesson: Lesson, key: string): string;
  /** The texts of the page around the lessons. */
  readonly page: Say;
}

/** The texts of a lesson in a language, for runs of its size or tiny ones; without a lesson, those around them. */
export function sayOf(published: PublishedLesson | null, language: LessonLanguage, tiny = false): SayLesson {
  const own = published === null ? {} : filledTexts(published.lesson, published.texts[language], tiny);
  const texts = { ...commonTexts[language], ...own };
  const say = (key: string): string => texts[key] ?? key;
  const run = (lesson: Lesson, key: string): string =>
    lesson.experiments.some((experiment) => experiment.key === key) ? say(key) : say("yourRun");
  return Object.assign(say, { run, page: textsOf(language) });
}

/** A lesson by its id; null when there is none. */
export function findLesson(id: string): PublishedLesson | null {
  return lessons.find(({ lesson }) => lesson.id === id) ?? null;
}
