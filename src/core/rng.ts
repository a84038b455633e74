/** A 64-bit key as two u32 words. */
export type RngKey = readonly [number, number];

const rotations = [13, 15, 26, 6, 17, 29, 16, 24] as const;

function rotl(x: number, n: number): number {
  return (x << n) | (x >>> (32 - n));
}

/**
 * Threefry-2x32, 20 rounds: two u32 words from a key and a counter. The same function in WGSL is
 * shaders/threefry.wgsl, so a draw on the device can be reproduced on the host.
 * Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
 */
export function threefry2x32(key: RngKey, counter: RngKey): [number, number] {
  const k0 = key[0] >>> 0;
  const k1 = key[1] >>> 0;
  const k2 = (0x1bd11bda ^ k0 ^ k1) >>> 0;
  const ks = [k0, k1, k2] as const;
  let x0 = (counter[0] + k0) >>> 0;
  let x1 = (counter[1] + k1) >>> 0;
  for (let group = 0; group < 5; group++) {
    for (let r = 0; r < 4; r++) {
      x0 = (x0 + x1) >>> 0;
      x1 = (rotl(x1, rotations[(group % 2) * 4 + r] as number) ^ x0) >>> 0;
    }
    x0 = (x0 + (ks[(group + 1) % 3] as number)) >>> 0;
    x1 = (x1 + (ks[(group + 2) % 3] as number) + group + 1) >>> 0;
  }
  return [x0, x1];
}

/** FNV-1a over UTF-16 code units, 32 bits: a stable hash for deriving keys from names. */
export function hashString(text: string, seed = 0x811c9dc5): number {
  let h = seed >>> 0;
  for (let i = 0; i < text.length; i++) {
    h ^= text.charCodeAt(i);
    h = Math.imul(h, 0x01000193) >>> 0;
  }
  return h;
}

/** A new key from a key and a list of names and integers; order matters, equal lists give equal keys. */
export function deriveKey(key: RngKey, ...parts: readonly (string | number)[]): RngKey {
  let out: RngKey = key;
  for (const part of parts) {
    const word: RngKey =
      typeof part === "number"
        ? [part >>> 0, Math.floor(part / 2 ** 32) >>> 0]
        : [hashString(part), hashString(part, 0x9747b28c)];
    out = threefry2x32(out, word);
  }
  return out;
}

/** A key from a user's integer seed. */
export function seedKey(seed: number): RngKey {
  return deriveKey([0x6c657964, 0x656e0001], seed);
}

/** A seeded stream for host-side choices (task order, synthetic data). Draw n of a key is always the same. */
export class Rng {
  readonly key: RngKey;
  private counter: number;

  constructor(key: RngKey, counter = 0) {
    this.key = key;
    this.counter = counter;
  }

  /** Next u32. */
  u32(): number {
    const n = this.counter++;
    return threefry2x32(this.key, [n >>> 0, Math.floor(n / 2 ** 32)])[0];
  }

  /** Uniform in [0, 1) with 24 random bits, exactly representable in f32. */
  uniform(): number {
    return (this.u32() >>> 8) / 16777216;
  }

  /** Uniform integer in [0, n). @throws never; n must be at least 1. */
  below(n: number): number {
    return Math.floor(this.uniform() * n);
  }

  /** Standard normal by Box-Muller. */
  normal(): number {
    const u = 1 - this.uniform();
    return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * this.uniform());
  }

  /** A shuffled copy (Fisher-Yates). */
  shuffled<T>(items: readonly T[]): T[] {
    const out = [...items];
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [out[i], out[j]] = [out[j] as T, out[i] as T];
    }
    return out;
  }

  /** One of the items. */
  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  /** Where the stream stands: store it to continue later. */
  get position(): number {
    return this.counter;
  }
}
