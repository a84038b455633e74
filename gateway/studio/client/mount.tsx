import { createRoot } from "hono/jsx/dom/client";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { Clock } from "../../../src/core/clock.ts";
import type { StudioRun, StudioSnapshot } from "../../../src/schema/studio_api.ts";
import { type StudioApi, StudioError } from "./api.ts";
import type { StudioContext } from "./context.ts";
import { httpApi, type StudioFetch } from "./http_api.ts";
import { LiveFeed } from "./live_feed.ts";
import { NoRun } from "./no_run.tsx";
import { snapshotApi } from "./snapshot_api.ts";
import { StudioApp } from "./studio_app.tsx";
import { type Language, type Say, textsOf } from "./texts.ts";

/** What a studio is mounted with. */
export interface StudioOptions {
  /** Asks the gateway, with its key. */
  fetch: StudioFetch;
  language: Language;
  clock: Clock;
  /** Where a run is started, for when there is none yet; absent where none can be. */
  startHref?: string;
  /** A finished run to show instead of asking. */
  static?: StudioSnapshot;
}

/**
 * Reads the run anew whenever it has come to another phase, or its model was let go: what may be asked of it is another.
 */
function followRun(api: StudioApi, feed: LiveFeed, show: (run: StudioRun) => void): void {
  const stateOf = (status: StudioRun["status"]): string => `${status?.phase} ${status?.modelOpen}`;
  let state = stateOf(feed.status);
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
  const show = (run: StudioRun): void => {
    if (isClosed) return;
    feed ??= new LiveFeed(api, o.clock, run.status);
    const shared: StudioContext = { api, run, feed, clock: o.clock, language: o.language, say };
    tree.render(<StudioApp shared={shared} />);
  };
  const refuse = (thrown: unknown): void => {
    if (isClosed) return;
    // Before a tab's first run there is none, and a gateway may have been given none.
    if (!(thrown instanceof StudioError) || thrown.status !== 404) tree.render(<Refusal thrown={thrown} say={say} />);
    else {
      feed = new LiveFeed(api, o.clock, null);
      tree.render(<NoRun say={say} startHref={o.startHref ?? null} />);
    }
  };
  tree.render(
    <div class="st-studio">
      <p class="st-empty" role="status">
        {say("loading")}
      </p>
    </div>,
  );
  void api
    .run()
    .then(show, refuse)
    .then(() => {
      if (feed !== null && !isClosed) followRun(api, feed, show);
    });
  return {
    close() {
      isClosed = true;
      feed?.close();
      tree.unmount();
    },
  };
}

/** Why the run could not be read. */
function Refusal({ thrown, say }: { thrown: unknown; say: Say }): JSX.Element {
  return (
    <div class="st-studio">
      <p class="st-error" role="alert">
        {say("error.load")} <span lang="en">{thrown instanceof Error ? thrown.message : String(thrown)}</span>
      </p>
    </div>
  );
}
