/** The lessons as a part of the page. */
import { createRoot } from "hono/jsx/dom/client";
import { lessons } from "../../../../examples/lessons/lessons.ts";
import type { LessonLanguage } from "../../../schema/lesson.ts";
import { FormDraft } from "../form_draft.ts";
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
/** What was typed in them, and not answered with. */
const drafts = new Map<string, FormDraft>();
/** What lessons keep over a reload. */
let memory: LessonMemory | null = null;
/** The membership in a room, for all lessons. */
let link: RoomLink | null = null;

const lessonHref = (id: string): string => (id === "" ? "#lesson" : `#lesson/${id}`);

/** Shows a lesson, or their list, in an element. */
export function mountLessons(root: HTMLElement, options: LessonsOptions): { close(): void } {
  const { fetch, language, studioHref } = options;
  const tree = createRoot(root);
  const shown = { close: () => tree.unmount() };
  if (options.lesson === teacherId) {
    tree.render(<TeacherPage language={language} lessonHref={lessonHref} />);
    return shown;
  }
  const published = options.lesson === null ? null : findLesson(options.lesson);
  if (published === null) {
    tree.render(<LessonList language={language} lessonHref={lessonHref} />);
    return shown;
  }
  const { lesson } = published;
  memory ??= new LessonMemory(browserValues());
  const session = sessions.get(lesson.id) ?? new LessonSession(lesson, fetch, memory);
  session.ask = fetch;
  void session.look();
  sessions.set(lesson.id, session);
  const draft = drafts.get(lesson.id) ?? new FormDraft();
  drafts.set(lesson.id, draft);
  if (options.room) link ??= new RoomLink(options.room, tabTicket);
  const place = lessons.indexOf(published);
  const neighbours = {
    before: lessons[place - 1]?.lesson.id ?? null,
    after: lessons[place + 1]?.lesson.id ?? null,
  };
  const sayFor = (tiny: boolean): SayLesson => sayOf(published, language, tiny);
  const room = options.room ? link : null;
  tree.render(<LessonPage {...{ lesson, session, draft, sayFor, studioHref, lessonHref, neighbours, room }} />);
  return shown;
}
