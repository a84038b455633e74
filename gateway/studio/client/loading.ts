import { useEffect, useRef } from "hono/jsx/dom";
import type { StudioChanges } from "../../../src/schema/studio_api.ts";
import { useStudio } from "./context.ts";
import { useLiveState } from "./live_state.ts";

/** Something that is being fetched: what came last stays until the next one is there. */
export interface Loaded<T> {
  readonly value: T | null;
  /** What went wrong, in words. */
  readonly error: string | null;
}

const nothing = { value: null, error: null };

/**
 * Loads something for a key, and again when `changed` says that what happened in the run concerns it. With another key
 * the old value goes at once.
 */
export function useLoaded<T>(
  key: string,
  load: () => Promise<T>,
  changed: (changes: StudioChanges) => boolean = () => false,
): Loaded<T> {
  const { feed } = useStudio();
  const [state, setState] = useLiveState<{ key: string } & Loaded<T>>({ key, ...nothing });
  const latest = useRef({ key, load, changed });
  latest.current = { key, load, changed };
  useEffect(() => {
    let isOver = false;
    let running = false;
    let again = false;
    const fetchIt = async (): Promise<void> => {
      if (running) {
        again = true;
        return;
      }
      running = true;
      do {
        again = false;
        const next = await settled(latest.current?.load as () => Promise<T>);
        if (!isOver)
          setState((before) => ({ key, ...(next.error === null ? next : { ...next, value: keptOf(before, key) }) }));
      } while (again && !isOver);
      running = false;
    };
    void fetchIt();
    const unlisten = feed.subscribe((changes) => {
      if (latest.current?.changed(changes)) void fetchIt();
    });
    return () => {
      isOver = true;
      unlisten();
    };
  }, [key]);
  return state.key === key ? state : nothing;
}

function keptOf<T>(state: { key: string } & Loaded<T>, key: string): T | null {
  return state.key === key ? state.value : null;
}

async function settled<T>(load: () => Promise<T>): Promise<Loaded<T>> {
  try {
    return { value: await load(), error: null };
  } catch (thrown) {
    return { value: null, error: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** What the feed says of the run: its status and whether the gateway answers, kept up to date. */
export function useStatus(): { status: ReturnType<typeof useStudio>["feed"]["status"]; connected: boolean } {
  const { feed } = useStudio();
  const [, setTold] = useLiveState(0);
  useEffect(() => feed.subscribe(() => setTold((n) => n + 1)), [feed]);
  return { status: feed.status, connected: feed.connected };
}
