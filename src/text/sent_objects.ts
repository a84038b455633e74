/**
 * Objects that cross a port once: each goes with a name, and from then on the name stands for it. The receiver keeps
 * those used lately; where it has dropped one, it says so and is sent them again.
 */

/** A name, with its object where the other end may not have it. */
export type Sent = number | readonly [name: number, object: object];

/** The sending end. */
export class SentObjects {
  private readonly names = new WeakMap<object, number>();
  private last = 0;

  /** `again`: the receiver has dropped some, so that every object goes along. */
  refer(object: object, again: boolean): Sent {
    const known = this.names.get(object);
    if (known !== undefined && !again) return known;
    const name = known ?? ++this.last;
    this.names.set(object, name);
    return [name, object];
  }
}

/** Bytes, about, of the objects of a JSON value: a short message takes as many as a page of text. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length + 24;
  if (typeof value !== "object" || value === null) return 8;
  let size = 200;
  for (const [key, inner] of Object.entries(value)) size += key.length + sizeOf(inner);
  return size;
}

/** The receiving end: it keeps the objects used lately, `limit` to twice `limit` bytes of them. */
export class ReceivedObjects {
  private readonly limit: number;
  private recent = new Map<number, object>();
  private older = new Map<number, object>();
  private size = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** The object, the same one each time; undefined for one that was dropped. */
  take(sent: Sent): object | undefined {
    if (typeof sent !== "number") return this.keep(...sent);
    const recent = this.recent.get(sent);
    if (recent) return recent;
    const older = this.older.get(sent);
    return older && this.keep(sent, older);
  }

  private keep(name: number, object: object): object {
    this.recent.set(name, object);
    this.size += sizeOf(object);
    if (this.size > this.limit) {
      this.older = this.recent;
      this.recent = new Map();
      this.size = 0;
    }
    return object;
  }
}
