import { useEffect } from "hono/jsx/dom";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";

/** A value that outlives the part of the page that shows it: whoever looks elsewhere meanwhile finds it again. */
export class KeptValue<T> {
  private current: T;
  private readonly listeners = new Set<() => void>();

  constructor(initial: T) {
    this.current = initial;
  }

  get value(): T {
    return this.current;
  }

  set(next: T): void {
    this.current = next;
    for (const told of this.listeners) told();
  }

  /** Calls `told` after every change, until the returned function is called. */
  subscribe(told: () => void): () => void {
    this.listeners.add(told);
    return () => this.listeners.delete(told);
  }
}

/** A kept value as it is now. */
export function useKeptValue<T>(kept: KeptValue<T>): T {
  const [, setTold] = useLiveState(0);
  useEffect(() => {
    const told = (): void => setTold((last) => last + 1);
    // It may have changed before anybody listened.
    told();
    return kept.subscribe(told);
  }, [kept]);
  return kept.value;
}
