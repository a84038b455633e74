import { createRoot } from "hono/jsx/dom/client";
import type { Clock } from "../../../src/core/clock.ts";
import type { StudioRun, StudioSnapshot } from "../../../src/schema/studio_api.ts";
import type { StudioApi } from "./api.ts";
import type { StudioContext } from "./context.ts";
import { httpApi, type StudioFetch } from "./http_api.ts";
import { LiveFeed } from "./live_feed.ts";
import { snapshotApi } from "./snapshot_api.ts";
import { StudioApp } from "./studio_app.tsx";
import { type Language, textsOf } from "./texts.ts";

/** What a studio is mounted with. */
export interface StudioOptions {
  /** Asks the gateway, with its key. */
  fetch: StudioFetch;
  language: Language;
  clock: Clock;
  /** A finished run to show instead of asking. */
  static?: StudioSnapshot;
}

/** Reads the run anew whenever it has come to another phase, or its model was let go: what may be asked of it is another. */
function followRun(api: StudioApi, feed: LiveFeed, first: StudioRun, show: (run: StudioRun) => void): void {
  const stateOf = (status: StudioRun["status"]): string => `${status?.phase} ${status?.modelOpen}`;
  let state = stateOf(first.status);
  feed.subscribe(({ status }) => {
    if (stateOf(status) === state) return;
    state = stateOf(status);
    // A gateway that does not answer is the feed's to say.
    api.run().then(show, () => {});
  });
}

/** Shows the studio in an element, which is its own until it is closed. Places within it are fragments "#/…". */
export function mountStudio(root: HTMLElement, o: StudioOptions): { close(): void } {
  const api = o.static === undefined ? httpApi(o.fetch) : snapshotApi(o.static);
  const say = textsOf(o.language);
  const tree = createRoot(root);
  let feed: LiveFeed | null = null;
  let isClosed = false;
  root.lang = o.language;
  tree.render(
    <p class="st-empty" role="status">
      {say("loading")}
    </p>,
  );
  api.run().then(
    (run) => {
      if (isClosed) return;
      const follows = new LiveFeed(api, o.clock, run.status);
      feed = follows;
      const show = (known: StudioRun): void => {
        const shared: StudioContext = { api, run: known, feed: follows, clock: o.clock, language: o.language, say };
        if (!isClosed) tree.render(<StudioApp shared={shared} />);
      };
      show(run);
      followRun(api, follows, run, show);
    },
    (thrown: unknown) => {
      if (isClosed) return;
      tree.render(
        <p class="st-error" role="alert">
          {say("error.load")} {thrown instanceof Error ? thrown.message : String(thrown)}
        </p>,
      );
    },
  );
  return {
    close() {
      isClosed = true;
      feed?.close();
      tree.unmount();
    },
  };
}
