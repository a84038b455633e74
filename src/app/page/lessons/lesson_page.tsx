import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../../gateway/studio/client/live_state.ts";
import type { Lesson } from "../../../schema/lesson.ts";
import type { FormDraft } from "../form_draft.ts";
import { ExerciseForm } from "./exercise_form.tsx";
import { FaultText } from "./fault_text.tsx";
import { Findings } from "./findings.tsx";
import { isBusy, type LessonSession, type LessonState } from "./lesson_session.ts";
import { Prose } from "./prose.tsx";
import { type RoomLink, roomReport } from "./room_link.ts";
import { RoomPanel } from "./room_panel.tsx";
import type { SayLesson } from "./say.ts";
import { StartOver } from "./start_over.tsx";

interface LessonPageProps {
  readonly lesson: Lesson;
  readonly session: LessonSession;
  /** What was typed, and not answered with. */
  readonly draft: FormDraft;
  /** The texts for runs of the lesson's own size, or for tiny ones. */
  sayFor(tiny: boolean): SayLesson;
  studioHref(route: string): string;
  /** Address of the list, and of another lesson. */
  lessonHref(id: string): string;
  /** Ids of the lessons before and after this one; null at the ends. */
  readonly neighbours: { readonly before: string | null; readonly after: string | null };
  /** The way into a teacher's room; null where there is none. */
  readonly room: RoomLink | null;
}

/** A lesson from its question to its exercises. */
export function LessonPage(props: LessonPageProps): JSX.Element {
  const { lesson, session, draft, sayFor, studioHref, lessonHref, neighbours, room } = props;
  const [state, setState] = useLiveState(session.view());
  const say = sayFor(state.tiny);
  const exercises = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const unsubscribe = session.subscribe(() => setState(session.view()));
    // What was kept may have been read before anybody listened.
    setState(session.view());
    return unsubscribe;
  }, [session]);
  useEffect(() => {
    // A lesson that is not read yet would tell the room that nothing is done.
    if (state.isRestored) void room?.tell(roomReport(lesson, state));
  }, [room, state]);
  const startedOver = (): void => {
    draft.clear();
    exercises.current?.focus();
  };
  if (!state.isRestored) return <p role="status">{say("opening")}</p>;
  const done = lesson.exercises.filter(({ key }) => state.verdicts[key]?.ok === true).length;
  return (
    <article class="ls-lesson">
      <p class="ls-crumb">
        <a href={lessonHref("")}>{say("allLessons")}</a>
      </p>
      <h1>{`${lesson.number}. ${say("title")}`}</h1>
      <Prose text={say("question")} lead />
      {lesson.parts.map((part) => (
        <Prose key={part} text={say(part)} />
      ))}
      <Experiments {...props} say={say} state={state} />
      <Findings {...{ lesson, state, say, studioHref }} />
      <section class="ls-panel" aria-labelledby="ls-exercises">
        <h2 id="ls-exercises" ref={exercises} tabindex={-1}>
          {say("exercises")}
        </h2>
        <div class="ls-row">
          <span class="ls-muted" role="status">{`${done} / ${lesson.exercises.length} ${say("exercisesDone")}`}</span>
          <StartOver {...{ session, state, room, say }} done={startedOver} />
        </div>
        {!state.isLasting && <p class="ls-muted">{say("notKept")}</p>}
        {lesson.exercises.map((exercise, i) => (
          <ExerciseForm
            key={exercise.key}
            exercise={exercise}
            place={i + 1}
            draft={draft}
            given={state.answers[exercise.key] ?? ""}
            verdict={state.verdicts[exercise.key]}
            busy={isBusy(state) || !state.canStart}
            progress={state.active?.key === exercise.key ? progressText(state, exercise.key, say) : ""}
            fault={state.fault?.key === exercise.key ? state.fault : null}
            say={say}
            answer={(asked, text) => void session.answer(asked, text)}
          />
        ))}
      </section>
      {room !== null && <RoomPanel link={room} say={say} />}
      <nav class="ls-nav" aria-label={say("otherLessons")}>
        {neighbours.before !== null && <a href={lessonHref(neighbours.before)}>{say("before")}</a>}
        {neighbours.after !== null && <a href={lessonHref(neighbours.after)}>{say("after")}</a>}
      </nav>
    </article>
  );
}

function isExercise({ exercises }: Lesson, key: string): boolean {
  return exercises.some((exercise) => exercise.key === key);
}

/** How far a run is, in words. */
function progressText({ active, runs }: LessonState, key: string, say: SayLesson): string {
  if (active?.key === key) {
    return active.updates === 0 ? say("opening") : `${say("updatesFinished")}: ${active.update} / ${active.updates}`;
  }
  return runs[key] === undefined ? say("notRunYet") : say("finished");
}

function Experiments({
  lesson,
  session,
  say,
  studioHref,
  state,
}: LessonPageProps & { say: SayLesson; state: LessonState }): JSX.Element {
  const busy = isBusy(state);
  return (
    <section class="ls-panel" aria-labelledby="ls-experiments">
      <h2 id="ls-experiments">{say("experiments")}</h2>
      <Prose text={say(state.canStart ? "experimentsHow" : "noStart")} />
      <label class="ls-option">
        <input
          type="checkbox"
          checked={state.tiny}
          disabled={busy}
          onChange={(event: Event) => void session.setTiny((event.target as HTMLInputElement).checked)}
        />
        <span>{say("tiny")}</span>
      </label>
      <ul class="ls-runs">
        {lesson.experiments.map((experiment) => (
          <li key={experiment.key}>
            <button
              type="button"
              class="ls-button"
              disabled={busy || !state.canStart}
              onClick={() => void session.run(experiment)}
            >
              {`${say("runThis")} ${say(experiment.key)}`}
            </button>
            <span role="status">{progressText(state, experiment.key, say)}</span>
          </li>
        ))}
      </ul>
      {state.other !== null && (
        <p role="status">
          {`${say("otherRun")} ${say("updatesFinished")}: ${state.other.update} / ${state.other.updates}`}
        </p>
      )}
      <p class="ls-row">
        <button type="button" class="ls-button" disabled={!busy} onClick={() => void session.stop()}>
          {say("stop")}
        </button>
        <a href={studioHref("")}>{say("openStudio")}</a>
        <a href={studioHref("rollouts")}>{say("openRollouts")}</a>
      </p>
      {state.fault !== null && !isExercise(lesson, state.fault.key) && <FaultText fault={state.fault} say={say} />}
    </section>
  );
}
