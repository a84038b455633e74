import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { lessons } from "../../../../examples/lessons/lessons.ts";
import type { LessonLanguage } from "../../../schema/lesson.ts";
import { Prose } from "./prose.tsx";
import { sayOf } from "./say.ts";
import { teacherId } from "./teacher_page.tsx";

/** All lessons with their questions. */
export function LessonList(props: { language: LessonLanguage; lessonHref(id: string): string }): JSX.Element {
  const { language, lessonHref } = props;
  const say = sayOf(null, language);
  return (
    <div class="ls-lesson">
      <h1>{say("lessons")}</h1>
      <Prose text={say("lessonsLead")} lead />
      <ol class="ls-list">
        {lessons.map((published) => {
          const own = sayOf(published, language);
          const { id } = published.lesson;
          return (
            <li key={id}>
              <a href={lessonHref(id)}>{own("title")}</a>
              <Prose text={own("question")} />
            </li>
          );
        })}
      </ol>
      <p>
        <a href={lessonHref(teacherId)}>{say("forTeachers")}</a>
      </p>
    </div>
  );
}
