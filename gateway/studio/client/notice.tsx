import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useStudio } from "./context.ts";
import type { Loaded } from "./loading.ts";

/** Says that something is being fetched, or why it could not be. */
export function Notice({ loaded }: { loaded: Loaded<unknown> }): JSX.Element | null {
  const { say } = useStudio();
  if (loaded.error !== null) {
    return (
      <p class="st-error" role="alert">
        {say("error.load")} <span lang="en">{loaded.error}</span>
      </p>
    );
  }
  return loaded.value === null ? (
    <p class="st-empty" role="status">
      {say("loading")}
    </p>
  ) : null;
}
