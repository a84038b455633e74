import { useEffect } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../../gateway/studio/client/live_state.ts";
import { FaultText } from "./fault_text.tsx";
import type { RoomLink } from "./room_link.ts";
import type { SayLesson } from "./say.ts";

/** Lets a learner share progress with the teacher's room; nothing is sent before. */
export function RoomPanel({ link, say }: { link: RoomLink; say: SayLesson }): JSX.Element {
  const [state, setState] = useLiveState(link.view());
  useEffect(() => link.subscribe(() => setState(link.view())), [link]);
  const submit = (event: Event): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    void link.join(String(form.get("code") ?? ""), String(form.get("name") ?? ""));
  };
  return (
    <details class="ls-panel">
      <summary>{say("room")}</summary>
      <p class="ls-text">{say("roomHow")}</p>
      {state.name === null ? (
        <form class="ls-row" onSubmit={submit}>
          <label class="ls-field">
            <span>{say("roomCode")}</span>
            <input class="ls-input ls-number" name="code" autocomplete="off" maxlength={12} required />
          </label>
          <label class="ls-field">
            <span>{say("roomName")}</span>
            <input class="ls-input ls-number" name="name" autocomplete="off" maxlength={40} required />
          </label>
          <button type="submit" class="ls-button">
            {say("roomJoin")}
          </button>
        </form>
      ) : (
        <p class="ls-row" role="status">
          <span>{`${say("roomJoined")} (${state.name})`}</span>
          <button type="button" class="ls-button" onClick={() => void link.leave()}>
            {say("roomLeave")}
          </button>
        </p>
      )}
      {state.fault !== null && <FaultText fault={state.fault} lead={say("roomFailed")} say={say} />}
    </details>
  );
}
