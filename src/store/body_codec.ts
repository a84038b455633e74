/**
 * JSON request bodies as pieces that are stored once. A conversation grows by a message or two per call, and many
 * rollouts share system text and tools; so the elements of long lists, and long values, are kept by content, and a call
 * names only the pieces that the call before it does not have at the same place.
 */

/** A set of JSON texts kept by content; ids are never reused for another text while referred to. */
export interface Bodies {
  /** Stores the text, or counts one more reference to it. */
  put(json: string): number;
  json(id: number): string;
}

/** A piece of a body, with its text: what repeats it is told by comparing, without a look into the store. */
export interface Piece {
  readonly id: number;
  readonly json: string;
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
    const texts = isList ? value.map((element: unknown) => JSON.stringify(element) ?? "null") : jsonOf(value);
    if (texts === null) continue;
    if (jsonLength(texts, isList) < inlineCharacters) {
      skeleton.push([key, value]);
      continue;
    }
    const known = base.get(key) ?? [];
    let shared = 0;
    while (shared < texts.length && shared < known.length && texts[shared] === known[shared]?.json) shared++;
    const rest = texts.slice(shared).map((json): Piece => ({ id: bodies.put(json), json }));
    slots.push({ key, isList, shared, rest: rest.map(({ id }) => id) });
    pieces.set(key, [...known.slice(0, shared), ...rest]);
    skeleton.push([key, null]);
  }
  const stored = { skeleton: bodies.put(JSON.stringify(Object.fromEntries(skeleton))), slots };
  return { stored, pieces };
}

/** The text of a value alone; null for one that JSON leaves out. */
function jsonOf(value: unknown): [string] | null {
  const json = JSON.stringify(value);
  return json === undefined ? null : [json];
}

/** Length of the JSON that texts make, as one value or as the elements of a list. */
function jsonLength(texts: readonly string[], isList: boolean): number {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  return isList ? length + Math.max(0, texts.length - 1) + 2 : length;
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
    const rest = slot.rest.map((id): Piece => ({ id, json: bodies.json(id) }));
    const all = [...(base.get(slot.key) ?? []).slice(0, slot.shared), ...rest];
    const parsed = all.map(({ json }) => JSON.parse(json) as unknown);
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
