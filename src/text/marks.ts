import { FormatError } from "../core/errors.ts";

/** Unicode noncharacters: no real text has them, and JSON leaves them as they are. */
const candidates: readonly string[] = Array.from({ length: 24 }, (_, i) => String.fromCharCode(0xfdd0 + i));

/** Characters that occur nowhere in a request, for keeping track of its texts through a template. */
export interface Marks {
  /** Stands before what only looks like a control token. */
  lookalike: string;
  /** Stands around the index of a carried number. */
  number: string;
  /** Stands for a whole text whose place is sought. */
  place: string;
}

/**
 * Three characters that occur in no text of `values`, neither as such nor as a JSON escape.
 * @throws FormatError "text_unencodable" when the texts leave fewer than three
 */
export function chooseMarks(values: readonly unknown[]): Marks {
  const [lookalike, number, place] = values.every(isPlain) ? candidates : unusedCandidates(values);
  if (lookalike !== undefined && number !== undefined && place !== undefined) return { lookalike, number, place };
  throw new FormatError("text_unencodable", "The messages contain every character that could mark their texts.", {
    do: "Remove the Unicode noncharacters U+FDD0 to U+FDE7 from them.",
  });
}

/** What a text with a candidate in it holds, as such or as an escape. */
const telling = /[\ufdd0-\ufde7]|ufd/i;

/** True when no text in a value could hold a candidate. */
function isPlain(value: unknown): boolean {
  if (typeof value === "string") return !telling.test(value);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return true;
  if (Array.isArray(value)) return value.every(isPlainElement);
  return Object.entries(value).every(([key, inner]) => isPlain(key) && isPlain(inner));
}

/**
 * Elements of lists found plain. Lists grow, their elements do not change: so a conversation's messages are searched once
 * and not once per call.
 */
const plainElements = new WeakSet<object>();

function isPlainElement(element: unknown): boolean {
  if (typeof element !== "object" || element === null) return isPlain(element);
  if (plainElements.has(element)) return true;
  if (!isPlain(element)) return false;
  plainElements.add(element);
  return true;
}

function unusedCandidates(values: readonly unknown[]): string[] {
  const json = JSON.stringify(values);
  // Requests are long, so the slow search is only for those in which an escape could be.
  const escaped = ["ufd", "uFD", "ufD", "uFd"].some((start) => json.includes(start));
  const free = (char: string) => !json.includes(char) && !(escaped && escapeOf(char).test(json));
  const chosen: string[] = [];
  for (const candidate of candidates) {
    if (free(candidate)) chosen.push(candidate);
    if (chosen.length === 3) break;
  }
  return chosen;
}

function escapeOf(char: string): RegExp {
  return new RegExp(`u${char.charCodeAt(0).toString(16)}`, "i");
}
