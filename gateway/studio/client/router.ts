import { useEffect } from "hono/jsx/dom";
import { decodeUrlPart } from "../../../src/core/url_part.ts";
import { useLiveState } from "./live_state.ts";

/** Views of the studio. */
export type View = "overview" | "rollouts" | "rollout" | "group" | "timeline" | "compare";

/** Where the studio is: a view, what it shows, and its settings. */
export interface Route {
  readonly view: View;
  /** Of a rollout or a group. */
  readonly id: string;
  /** The call that is open. */
  readonly call: string;
  readonly query: URLSearchParams;
}

function decoded(part = ""): string {
  return decodeUrlPart(part) ?? part;
}

/** The route that a fragment names; whatever is none leads to the overview. */
export function routeOf(fragment: string): Route {
  const [path = "", query = ""] = fragment.replace(/^#?\/?/, "").split("?", 2);
  const [first, id, call] = path.split("/");
  const base = { id: decoded(id), call: decoded(call), query: new URLSearchParams(query) };
  if (first === "rollouts") return { ...base, view: base.id === "" ? "rollouts" : "rollout" };
  if (first === "groups" && base.id !== "") return { ...base, view: "group" };
  if (first === "timeline" || first === "compare") return { ...base, view: first };
  return { ...base, view: "overview" };
}

/** Address of a place in the studio. */
export function hrefTo(parts: readonly string[], query?: URLSearchParams): string {
  const text = query?.toString() ?? "";
  return `#/${parts.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

/** Goes somewhere; `replace` leaves no step back. */
export function goTo(href: string, replace = false): void {
  if (!replace) {
    location.hash = href;
    return;
  }
  history.replaceState(null, "", href);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** The present route. */
export function useRoute(): Route {
  const [route, setRoute] = useLiveState(routeOf(location.hash));
  useEffect(() => {
    const look = (): void => setRoute(routeOf(location.hash));
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  return route;
}
