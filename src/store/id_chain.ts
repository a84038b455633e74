/** Links that are followed before a chain's ids are put together in one array. */
const mostLinks = 64;

function noIds(): Int32Array {
  return new Int32Array(0);
}

/**
 * Token ids of a call, prompt and reply, as those of the call it is stored against and its own: a conversation takes the
 * room of its last call, not of the sum of all.
 */
export class IdChain {
  readonly length: number;
  /** How many ids are held here and nowhere else. */
  readonly ownLength: number;
  private readonly base: IdChain | null;
  /** Ids of the base that come first. */
  private readonly shared: number;
  private readonly own: Int32Array;
  private readonly links: number;

  /** `own`: the ids after the first `shared` ones of `base`; kept, not copied. */
  constructor(base: IdChain | null, shared: number, own: Int32Array) {
    const isFar = (base?.links ?? 0) >= mostLinks;
    this.base = isFar || shared === 0 ? null : base;
    this.shared = this.base ? shared : 0;
    this.own = isFar && base ? concat(base.first(shared), own) : own;
    this.links = this.base ? this.base.links + 1 : 0;
    this.ownLength = this.own.length;
    this.length = this.shared + this.own.length;
  }

  /** The first `count` ids, in an array of their own. */
  first(count: number): Int32Array {
    const ids = new Int32Array(count);
    for (const { from, part } of this.parts(count)) ids.set(part, from);
    return ids;
  }

  /** How many of the first ids are these. */
  commonPrefix(ids: Int32Array): number {
    for (const { from, part } of this.parts(Math.min(ids.length, this.length)).reverse()) {
      for (let at = 0; at < part.length; at++) if (part[at] !== ids[from + at]) return from + at;
    }
    return Math.min(ids.length, this.length);
  }

  /** Where the first `count` ids lie, the last part first. */
  private parts(count: number): { from: number; part: Int32Array }[] {
    const parts: { from: number; part: Int32Array }[] = [];
    let left = count;
    for (let at: IdChain | null = this; at !== null && left > 0; at = at.base) {
      const from = Math.min(left, at.shared);
      parts.push({ from, part: at.own.subarray(0, left - from) });
      left = from;
    }
    return parts;
  }
}

/** Two lists of ids as one. */
export function concat(a: Int32Array, b: Int32Array): Int32Array {
  if (a.length + b.length === 0) return noIds();
  const out = new Int32Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}
