import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { lessonMinutes, lessons, teacherTexts } from "../../../../examples/lessons/lessons.ts";
import type { LessonLanguage } from "../../../schema/lesson.ts";
import { Prose } from "./prose.tsx";
import { sayOf } from "./say.ts";

/** Its place among the lessons' addresses. */
export const teacherId = "teacher";

const sections = ["plan", "place", "room", "solutions"] as const;
const titles: Readonly<Record<(typeof sections)[number], string>> = {
  plan: "planTitle",
  place: "placeTitle",
  room: "roomTitle2",
  solutions: "solutionsTitle",
};

interface TeacherProps {
  readonly language: LessonLanguage;
  lessonHref(id: string): string;
}

/** What teachers want to know: timing, mistakes, use without a network, the room. */
export function TeacherPage({ language, lessonHref }: TeacherProps): JSX.Element {
  const common = sayOf(null, language);
  const say = (key: string): string => teacherTexts[language][key] ?? key;
  return (
    <article class="ls-lesson">
      <p class="ls-crumb">
        <a href={lessonHref("")}>{common("allLessons")}</a>
      </p>
      <h1>{say("teacherTitle")}</h1>
      <Prose text={say("teacherLead")} lead />
      {sections.map((section) => (
        <section key={section}>
          <h2>{say(titles[section])}</h2>
          <Prose text={say(section === "room" ? "roomTeacher" : section)} />
        </section>
      ))}
      <h2>{say("lessonsTitle")}</h2>
      {lessons.map((published) => {
        const { id, number } = published.lesson;
        return (
          <section key={id} class="ls-panel">
            <h3>
              <a href={lessonHref(id)}>{`${number}. ${sayOf(published, language)("title")}`}</a>
              {` · ${lessonMinutes[number]} ${say("minutes")}`}
            </h3>
            <h4>{say("stumble")}</h4>
            <Prose text={say(`stumble0${number}`)} />
            <h4>{say("discuss")}</h4>
            <Prose text={say(`discuss0${number}`)} />
          </section>
        );
      })}
    </article>
  );
}
