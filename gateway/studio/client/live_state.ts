import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";

/**
 * A state that a part of the page no longer has once it has left: what it waited for comes too late then, and the
 * library would draw a part whose state is set where it once was, beside what is there now.
 */
export function useLiveState<T>(initial: T | (() => T)): [state: T, set: (next: T | ((last: T) => T)) => void] {
  const [state, setState] = useState(initial);
  const hasLeft = useRef(false);
  useLayoutEffect(() => {
    hasLeft.current = false;
    return () => {
      hasLeft.current = true;
    };
  }, []);
  return [
    state,
    (next) => {
      if (!hasLeft.current) setState(next);
    },
  ];
}
