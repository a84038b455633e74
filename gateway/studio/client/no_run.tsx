import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { contentId } from "./content_id.ts";
import type { Say } from "./texts.ts";

/** Says that there is no run to look into yet, and where one is started; `startHref` is null where none can be. */
export function NoRun({ say, startHref }: { say: Say; startHref: string | null }): JSX.Element {
  return (
    <div class="st-studio">
      <section id={contentId} class="st-no-run" tabIndex={-1} aria-labelledby="st-no-run">
        <h2 id="st-no-run">{say("noRun.title")}</h2>
        <p role="status">{say(startHref === null ? "noRun.served" : "noRun.start")}</p>
        {startHref === null ? null : (
          <p>
            <a href={startHref}>{say("noRun.go")}</a>
          </p>
        )}
      </section>
    </div>
  );
}
