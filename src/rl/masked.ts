/** One sequence of numbers: a plain array or a typed one. */
export type Numbers = ArrayLike<number>;

/** Rows of numbers, (B, T), ragged allowed. */
export type Rows = readonly Numbers[];

/** Calls `visit(value, row, t)` for every position whose mask is not 0; values elsewhere are never read. */
export function forEachMasked(rows: Rows, mask: Rows, visit: (value: number, row: number, t: number) => void): void {
  for (let i = 0; i < mask.length; i++) {
    const m = mask[i] as Numbers;
    const r = rows[i] as Numbers;
    for (let t = 0; t < m.length; t++) if (m[t] !== 0) visit(r[t] as number, i, t);
  }
}

/** Number of positions whose mask is not 0. */
export function countMasked(mask: Numbers): number {
  let n = 0;
  for (let t = 0; t < mask.length; t++) if (mask[t] !== 0) n++;
  return n;
}

/** Sum over the mask of one row; positions outside contribute exactly 0, whatever they hold. */
export function maskedSum(values: Numbers, mask: Numbers): number {
  let sum = 0;
  for (let t = 0; t < mask.length; t++) if (mask[t] !== 0) sum += values[t] as number;
  return sum;
}

/** Mean over the mask of one row; 0 when the mask is empty. */
export function maskedMean(values: Numbers, mask: Numbers): number {
  const n = countMasked(mask);
  return n === 0 ? 0 : maskedSum(values, mask) / n;
}

/** Zeros of the shape of `like`. */
export function zerosLike(like: Rows): Float64Array[] {
  return like.map((row) => new Float64Array(row.length));
}

/** How masked values are whitened. */
export interface WhitenOptions {
  /** Added to the variance under the root. */
  eps: number;
  /** Added to the number of values when the mean is taken: 0 is the mean; verl adds 1e-8. */
  countEps: number;
}

/**
 * Whitens values over all masked positions: (x - mean) / sqrt(var + eps), var unbiased (0 for a single value). Equal
 * values give exactly 0 when countEps is 0. (B, T) -> (B, T), 0 outside the mask.
 * Source: verl masked_whiten.
 */
export function whiten(values: Rows, mask: Rows, options: WhitenOptions = { eps: 1e-8, countEps: 0 }): Float64Array[] {
  const flat: number[] = [];
  forEachMasked(values, mask, (value) => {
    flat.push(value);
  });
  const whitened = whitenWeighted(flat, null, options);
  const out = zerosLike(mask);
  let next = 0;
  forEachMasked(values, mask, (_, row, t) => {
    (out[row] as Float64Array)[t] = whitened[next++] as number;
  });
  return out;
}

/**
 * `whiten` of values that each stand for `counts` equal ones (a rollout's scalar broadcast to its tokens), without
 * spelling them out. (N) -> (N).
 */
export function whitenWeighted(values: Numbers, counts: Numbers | null, options: WhitenOptions): Float64Array {
  const first = values.length === 0 ? 0 : (values[0] as number);
  let n = 0;
  let shifted = 0;
  for (let i = 0; i < values.length; i++) {
    const count = counts === null ? 1 : (counts[i] as number);
    n += count;
    shifted += count * ((values[i] as number) - first);
  }
  if (n === 0) return new Float64Array(values.length);
  // Shifting by the first value keeps equal values exactly equal to their mean.
  const mean = options.countEps === 0 ? first + shifted / n : (shifted + n * first) / (n + options.countEps);
  let squares = 0;
  for (let i = 0; i < values.length; i++) {
    const count = counts === null ? 1 : (counts[i] as number);
    squares += count * ((values[i] as number) - mean) ** 2;
  }
  const scale = 1 / Math.sqrt((n > 1 ? squares / (n - 1) : 0) + options.eps);
  return Float64Array.from(values, (value) => (value - mean) * scale);
}
