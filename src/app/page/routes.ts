import { decodeUrlPart } from "../../core/url_part.ts";

/** Parts of the page. */
export type Section = "run" | "studio" | "lessons" | "model" | "room";

/** A place in the page, from the address's fragment. */
export interface Place {
  readonly section: Section;
  /** Id of a lesson; empty for the list and elsewhere. */
  readonly id: string;
}

/** The studio's places begin with "#/"; it reads them itself. */
export function placeOf(hash: string): Place {
  const fragment = hash.replace(/^#/, "");
  if (fragment.startsWith("/")) return { section: "studio", id: "" };
  const [name, id = ""] = fragment.split("/");
  if (name === "lesson") return { section: "lessons", id: decodeUrlPart(id) ?? id };
  if (name === "model" || name === "room") return { section: name, id: "" };
  return { section: "run", id: "" };
}
