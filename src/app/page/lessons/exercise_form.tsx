import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../../gateway/studio/client/live_state.ts";
import type { Exercise, Verdict } from "../../../schema/lesson.ts";
import type { RunFault } from "../../../schema/run_control.ts";
import { type FormDraft, useDraft } from "../form_draft.ts";
import { FaultText } from "./fault_text.tsx";
import { Prose, Words } from "./prose.tsx";
import type { SayLesson } from "./say.ts";

interface ExerciseProps {
  readonly exercise: Exercise;
  /** Number of the exercise, from 1. */
  readonly place: number;
  /** What was answered last; empty for nothing yet. */
  readonly given: string;
  /** What was typed or chosen since, and not answered with. */
  readonly draft: FormDraft;
  readonly verdict: Verdict | undefined;
  /** True while a run is under way. */
  readonly busy: boolean;
  /** How far this exercise's own run is; empty when it is not under way. */
  readonly progress: string;
  /** What went wrong with it; null for nothing. */
  readonly fault: RunFault | null;
  readonly say: SayLesson;
  answer(exercise: Exercise, text: string): void;
}

/** The options of a choice, one of them to be taken. */
function Options({ exercise, given, say }: Pick<ExerciseProps, "exercise" | "given" | "say">): JSX.Element | null {
  if (exercise.kind !== "choice") return null;
  return (
    <>
      {exercise.options.map((option) => (
        <label key={option} class="ls-option">
          <input type="radio" name={exercise.key} value={option} checked={option === given} required />
          <span>
            <Words text={say(option)} />
          </span>
        </label>
      ))}
    </>
  );
}

/** The field that an answer is typed into. */
function Field({ exercise, given, say }: Pick<ExerciseProps, "exercise" | "given" | "say">): JSX.Element | null {
  const { key, kind } = exercise;
  if (kind === "number") {
    return (
      <label class="ls-field">
        <span>{say("yourNumber")}</span>
        <input class="ls-input ls-number" name={key} inputmode="decimal" autocomplete="off" value={given} required />
      </label>
    );
  }
  if (kind !== "edit-config" && kind !== "edit-reward") return null;
  return (
    <label class="ls-field">
      <span>{kind === "edit-reward" ? say("yourReward") : `${say("yourValue")} ${exercise.path}`}</span>
      <textarea class="ls-input ls-code" name={key} rows={3} spellcheck={false} required>
        {given === "" ? exercise.initial : given}
      </textarea>
    </label>
  );
}

/** An exercise with its field, its button, and what the check says. */
export function ExerciseForm(props: ExerciseProps): JSX.Element {
  const { exercise, place, given, draft, verdict, busy, progress, fault, say, answer } = props;
  const [untouched, setUntouched] = useLiveState(true);
  /** True after an answer was asked for that is not there. */
  const [lacks, setLacks] = useLiveState(false);
  const { key, kind } = exercise;
  const edits = kind === "edit-config" || kind === "edit-reward";
  const submit = (event: Event): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const entry = new FormData(form).get(key);
    const text = typeof entry === "string" ? entry : "";
    setLacks(text.trim() === "");
    if (text.trim() === "") {
      form.querySelector<HTMLElement>("input, textarea")?.focus();
      return;
    }
    setUntouched(false);
    answer(exercise, text);
  };
  const typed = (event: Event): void => {
    draft.type(key, (event.target as HTMLInputElement).value, given);
    if (lacks) setLacks(false);
  };
  const shown = useDraft(draft, key, given);
  return (
    // Browsers would say what is missing in their own language, and some do not say it at all.
    <form class="ls-exercise" novalidate onSubmit={submit} onInput={typed}>
      <fieldset class="ls-plain">
        <legend>
          {`${place}. `}
          <Words text={say(key)} />
        </legend>
        <Options exercise={exercise} given={shown} say={say} />
        <Field exercise={exercise} given={shown} say={say} />
      </fieldset>
      <button type="submit" class="ls-button" disabled={busy && edits}>
        {edits ? say("runWithThis") : say("check")}
      </button>
      {fault !== null && <FaultText fault={fault} say={say} />}
      <div role="status" class="ls-verdict">
        {progress}
        {lacks && <p class="ls-lacks">{say(kind === "choice" ? "chooseFirst" : "typeFirst")}</p>}
        {verdict !== undefined && !lacks && !(untouched && given === "") && (
          <div class={verdict.ok ? "ls-right" : "ls-wrong"}>
            <strong>{verdict.ok ? say("right") : say("notYet")}</strong>
            <Prose text={say(verdict.feedback)} />
          </div>
        )}
      </div>
    </form>
  );
}
