/**
 * JSON request bodies as pieces that are stored once. A conversation grows by a message or two per call, and many
 * rollouts share system text and tools; so the elements of long lists, and long values, are kept by content, and a call
 * names only the pieces that the call before it does not have at the same place.
 */

import { sameJson } from "./same_json.ts";

/** A set of JSON texts kept by content; ids are never reused for another text while referred to. */
export interface Bodies {
  /** Stores the text, or counts one more reference to it. */
  put(json: string): number;
  json(id: number): string;
}

/** A piece of a body, with its value: what repeats it is told by comparing, without writing it or a look into the store. */
export interface Piece {
  readonly id: number;
  /** Parsed from the piece's JSON, so nobody else's to change. */
  readonly value: unknown;
  /** Characters of its JSON. */
  readonly length: number;
}

/** The pieces of a body's long values by key, in order. */
export type Pieces = ReadonlyMap<string, readonly Piece[]>;

/** A long value: its first `shared` pieces are the base call's, then come `rest`. */
export interface BodySlot {
  key: string;
  isList: boolean;
  shared: number;
  rest: number[];
}

/** A body: its short values as JSON with null at the keys that slots hold, key order kept. */
export interface StoredBody {
  skeleton: number;
  slots: BodySlot[];
}

/** Values whose JSON is shorter stay in the skeleton. */
const inlineCharacters = 200;

/** Stores a body's pieces; `base` are the pieces of the call it is likely to repeat. */
export function splitBody(
  body: Readonly<Record<string, unknown>>,
  base: Pieces,
  bodies: Bodies,
): { stored: StoredBody; pieces: Pieces } {
  const slots: BodySlot[] = [];
  const pieces = new Map<string, readonly Piece[]>();
  const skeleton: [string, unknown][] = [];
  for (const [key, value] of Object.entries(body)) {
    const isList = Array.isArray(value);
    const elements: readonly unknown[] = isList ? value : [value];
    const known = base.get(key) ?? [];
    const shared = sharedCount(elements, known);
    const texts = elements.slice(shared).map((element) => JSON.stringify(element) ?? (isList ? "null" : undefined));
    // JSON leaves it out.
    if (texts[0] === undefined && texts.length > 0) continue;
    const repeated = known.slice(0, shared);
    if (jsonLength(repeated, texts as string[], isList) < inlineCharacters) {
      skeleton.push([key, value]);
      continue;
    }
    const rest = (texts as string[]).map((json) => pieceOf(bodies.put(json), json));
    slots.push({ key, isList, shared, rest: rest.map(({ id }) => id) });
    pieces.set(key, [...repeated, ...rest]);
    skeleton.push([key, null]);
  }
  const stored = { skeleton: bodies.put(JSON.stringify(Object.fromEntries(skeleton))), slots };
  return { stored, pieces };
}

function pieceOf(id: number, json: string): Piece {
  return { id, value: JSON.parse(json), length: json.length };
}

function sharedCount(elements: readonly unknown[], known: readonly Piece[]): number {
  const most = Math.min(elements.length, known.length);
  let shared = 0;
  while (shared < most && sameJson((known[shared] as Piece).value, elements[shared])) shared++;
  return shared;
}

/** Length of the JSON of a value, or of a list with these elements. */
function jsonLength(repeated: readonly Piece[], texts: readonly string[], isList: boolean): number {
  const count = repeated.length + texts.length;
  const known = repeated.reduce((sum, { length }) => sum + length, 0);
  const length = texts.reduce((sum, text) => sum + text.length, known);
  return isList ? length + Math.max(0, count - 1) + 2 : length;
}

/** The body again, equal in content and key order. */
export function joinBody(
  stored: StoredBody,
  base: Pieces,
  bodies: Bodies,
): { body: Record<string, unknown>; pieces: Pieces } {
  const values = new Map<string, unknown>();
  const pieces = new Map<string, readonly Piece[]>();
  for (const slot of stored.slots) {
    const rest = slot.rest.map((id) => pieceOf(id, bodies.json(id)));
    const all = [...(base.get(slot.key) ?? []).slice(0, slot.shared), ...rest];
    // Values of its own: what is read may be changed.
    const parsed = all.map(({ value }) => structuredClone(value));
    pieces.set(slot.key, all);
    values.set(slot.key, slot.isList ? parsed : parsed[0]);
  }
  const skeleton = JSON.parse(bodies.json(stored.skeleton)) as Record<string, unknown>;
  // Entries, not assignment: a key named "__proto__" is an ordinary key of JSON.
  const body = Object.fromEntries(
    Object.entries(skeleton).map(([key, value]) => [key, values.has(key) ? values.get(key) : value]),
  );
  return { body, pieces };
}

/** Every reference a stored body holds, once per reference. */
export function bodyReferences(stored: StoredBody): number[] {
  return [stored.skeleton, ...stored.slots.flatMap((slot) => slot.rest)];
}
