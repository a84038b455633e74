import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../../gateway/studio/client/live_state.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { isBusy, type LessonSession, type LessonState } from "./lesson_session.ts";
import type { RoomLink } from "./room_link.ts";
import type { SayLesson } from "./say.ts";

interface StartOverProps {
  readonly session: LessonSession;
  readonly state: LessonState;
  /** Left with the lesson; null where there is none. */
  readonly room: RoomLink | null;
  readonly say: SayLesson;
  /** Told when it is done, and the button gone. */
  done(): void;
}

/** Forgets a lesson's answers and results and leaves the room, for whoever sits down next. */
export function StartOver({ session, state, room, say, done }: StartOverProps): JSX.Element | null {
  const [asks, setAsks] = useLiveState(false);
  const answer = (yes: boolean): void => {
    setAsks(false);
    if (!yes) return;
    // First: the room must not hear that its learner has done nothing.
    void room?.leave();
    void session.startOver().then(done);
  };
  if (!isBegun(state)) return null;
  return (
    <>
      <button type="button" class="ls-button" disabled={isBusy(state)} onClick={() => setAsks(true)}>
        {say("startOver")}
      </button>
      {asks && (
        <ConfirmDialog
          title={say("startOverSure")}
          text={say(room === null ? "startOverText" : "startOverRoom")}
          yes={say("startOverYes")}
          no={say("startOverNo")}
          answer={answer}
        />
      )}
    </>
  );
}

function isBegun({ answers, runs }: LessonState): boolean {
  return Object.keys(answers).length + Object.keys(runs).length > 0;
}
