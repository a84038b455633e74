import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import type { Say } from "./texts.ts";

/** What the page does while the server's key is missing. */
export interface LockedProps {
  readonly say: Say;
  /** True when the key opened the server. */
  open(key: string): Promise<boolean>;
  useTab(): void;
}

/** Asks for the key of the server's run, or trains in the tab instead. */
export function LockedPage({ say, open, useTab }: LockedProps): JSX.Element {
  const [wrong, setWrong] = useLiveState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget as HTMLFormElement).get("key") ?? "").trim();
    void open(key).then((good) => setWrong(!good));
  };
  return (
    <form class="pg-panel" onSubmit={submit} style="max-width:560px">
      <h1>{say("locked.title")}</h1>
      <p class="pg-lead">{say("locked.lead")}</p>
      <label class="pg-field">
        <span class="pg-label">{say("locked.key")}</span>
        <input class="pg-input" name="key" type="password" autocomplete="off" required />
      </label>
      {wrong && (
        <p class="pg-error" role="alert">
          {say("locked.wrong")}
        </p>
      )}
      <div class="pg-buttons">
        <button type="submit" class="pg-button pg-primary">
          {say("locked.open")}
        </button>
        <button type="button" class="pg-button" onClick={useTab}>
          {say("locked.tab")}
        </button>
      </div>
    </form>
  );
}
