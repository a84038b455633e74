/** The lessons as a part of the page. */
import { render } from "hono/jsx/dom";
import { lessons } from "../../../../examples/lessons/lessons.ts";
import type { LessonLanguage } from "../../../schema/lesson.ts";
import type { Ask } from "./lesson_gateway.ts";
import { LessonList } from "./lesson_list.tsx";
import { browserValues, LessonMemory } from "./lesson_memory.ts";
import { LessonPage } from "./lesson_page.tsx";
import { LessonSession } from "./lesson_session.ts";
import { RoomLink } from "./room_link.ts";
import { tabTicket } from "./room_ticket.ts";
import { findLesson, type SayLesson, sayOf } from "./say.ts";
import { TeacherPage, teacherId } from "./teacher_page.tsx";

/** What the lessons are shown with. */
export interface LessonsOptions {
  /** Id of a lesson; null, or one that there is not, shows the list. */
  readonly lesson: string | null;
  /** Asks the gateway; `path` begins with "/". */
  fetch: Ask;
  readonly language: LessonLanguage;
  onLanguage(language: LessonLanguage): void;
  /** Address of one of the studio's places. */
  studioHref(route: string): string;
  /** Asks the server that has a room for this page's people; absent or null where there is none. */
  readonly room?: Ask | null;
}

/** Lessons that were begun in this page: another language, or a look elsewhere, loses nothing. */
const sessions = new Map<string, LessonSession>();
/** What lessons keep over a reload. */
let memory: LessonMemory | null = null;
/** The membership in a room, for all lessons. */
let link: RoomLink | null = null;

const lessonHref = (id: string): string => (id === "" ? "#lesson" : `#lesson/${id}`);

/** Shows a lesson, or their list, in an element. */
export function mountLessons(root: HTMLElement, options: LessonsOptions): { close(): void } {
  const { fetch, language, studioHref } = options;
  if (options.lesson === teacherId) {
    render(<TeacherPage language={language} lessonHref={lessonHref} />, root);
    return { close: () => root.replaceChildren() };
  }
  const published = options.lesson === null ? null : findLesson(options.lesson);
  if (published === null) {
    render(<LessonList language={language} lessonHref={lessonHref} />, root);
    return { close: () => root.replaceChildren() };
  }
  const { lesson } = published;
  memory ??= new LessonMemory(browserValues());
  const session = sessions.get(lesson.id) ?? new LessonSession(lesson, fetch, memory);
  session.ask = fetch;
  void session.look();
  sessions.set(lesson.id, session);
  if (options.room) link ??= new RoomLink(options.room, tabTicket);
  const place = lessons.indexOf(published);
  const neighbours = {
    before: lessons[place - 1]?.lesson.id ?? null,
    after: lessons[place + 1]?.lesson.id ?? null,
  };
  const sayFor = (tiny: boolean): SayLesson => sayOf(published, language, tiny);
  const room = options.room ? link : null;
  render(<LessonPage {...{ lesson, session, sayFor, studioHref, lessonHref, neighbours, room }} />, root);
  return { close: () => root.replaceChildren() };
}
