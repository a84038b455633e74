/** The eight lessons in their order, each with its texts, and what the texts around them say. */
import type { Lesson, LessonLanguage, LessonTexts } from "leyden";
import { lesson as policy } from "./01-policy/lesson.ts";
import policyEn from "./01-policy/texts.en.json" with { type: "json" };
import policyKo from "./01-policy/texts.ko.json" with { type: "json" };
import { lesson as tokens } from "./02-tokens/lesson.ts";
import tokensEn from "./02-tokens/texts.en.json" with { type: "json" };
import tokensKo from "./02-tokens/texts.ko.json" with { type: "json" };
import { lesson as samples } from "./03-samples/lesson.ts";
import samplesEn from "./03-samples/texts.en.json" with { type: "json" };
import samplesKo from "./03-samples/texts.ko.json" with { type: "json" };
import { lesson as advantage } from "./04-advantage/lesson.ts";
import advantageEn from "./04-advantage/texts.en.json" with { type: "json" };
import advantageKo from "./04-advantage/texts.ko.json" with { type: "json" };
import { lesson as normalisation } from "./05-normalisation/lesson.ts";
import normalisationEn from "./05-normalisation/texts.en.json" with { type: "json" };
import normalisationKo from "./05-normalisation/texts.ko.json" with { type: "json" };
import { lesson as staleness } from "./06-staleness/lesson.ts";
import stalenessEn from "./06-staleness/texts.en.json" with { type: "json" };
import stalenessKo from "./06-staleness/texts.ko.json" with { type: "json" };
import { lesson as schedule } from "./07-schedule/lesson.ts";
import scheduleEn from "./07-schedule/texts.en.json" with { type: "json" };
import scheduleKo from "./07-schedule/texts.ko.json" with { type: "json" };
import { lesson as hacking } from "./08-hacking/lesson.ts";
import hackingEn from "./08-hacking/texts.en.json" with { type: "json" };
import hackingKo from "./08-hacking/texts.ko.json" with { type: "json" };
import teacherEn from "./teacher/texts.en.json" with { type: "json" };
import teacherKo from "./teacher/texts.ko.json" with { type: "json" };
import commonEn from "./texts.en.json" with { type: "json" };
import commonKo from "./texts.ko.json" with { type: "json" };

/** A lesson with its texts by language. */
export interface PublishedLesson {
  lesson: Lesson;
  texts: Readonly<Record<LessonLanguage, LessonTexts>>;
}

/** Every lesson, in order. A new one: its folder, and a line here. */
export const lessons: readonly PublishedLesson[] = [
  { lesson: policy, texts: { en: policyEn, ko: policyKo } },
  { lesson: tokens, texts: { en: tokensEn, ko: tokensKo } },
  { lesson: samples, texts: { en: samplesEn, ko: samplesKo } },
  { lesson: advantage, texts: { en: advantageEn, ko: advantageKo } },
  { lesson: normalisation, texts: { en: normalisationEn, ko: normalisationKo } },
  { lesson: staleness, texts: { en: stalenessEn, ko: stalenessKo } },
  { lesson: schedule, texts: { en: scheduleEn, ko: scheduleKo } },
  { lesson: hacking, texts: { en: hackingEn, ko: hackingKo } },
];

/** What pages and the command say around the lessons. */
export const commonTexts: Readonly<Record<LessonLanguage, LessonTexts>> = { en: commonEn, ko: commonKo };

/** What the teachers' page says. */
export const teacherTexts: Readonly<Record<LessonLanguage, LessonTexts>> = { en: teacherEn, ko: teacherKo };

/** Minutes that a lesson takes, by its number. */
export const lessonMinutes: Readonly<Record<number, number>> = {
  1: 20,
  2: 20,
  3: 15,
  4: 25,
  5: 20,
  6: 25,
  7: 25,
  8: 20,
};
