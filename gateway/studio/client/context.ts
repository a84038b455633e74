import { type Context, createContext, useContext } from "hono/jsx/dom";
import type { Clock } from "../../../src/core/clock.ts";
import type { StudioRun } from "../../../src/schema/studio_api.ts";
import type { StudioApi } from "./api.ts";
import type { LiveFeed } from "./live_feed.ts";
import type { Language, Say } from "./texts.ts";

/** What every part of the studio works with. */
export interface StudioContext {
  readonly api: StudioApi;
  readonly run: StudioRun;
  readonly feed: LiveFeed;
  readonly clock: Clock;
  readonly language: Language;
  readonly say: Say;
}

const Shared: Context<StudioContext | null> = createContext<StudioContext | null>(null);

/** Hands the context to everything below. */
export const StudioProvider: typeof Shared.Provider = Shared.Provider;

/** The context. @throws TypeError outside of a studio */
export function useStudio(): StudioContext {
  const found = useContext(Shared);
  if (found === null) throw new TypeError("useStudio was called outside of a studio.");
  return found;
}
