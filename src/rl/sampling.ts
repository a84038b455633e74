import type { Sampling } from "../schema/engine.ts";

/** log-softmax(logits / temperature), (V) -> (V), float64; -inf logits stay -inf. */
export function logSoftmax(logits: ArrayLike<number>, temperature = 1): Float64Array {
  let top = -Infinity;
  for (let i = 0; i < logits.length; i++) top = Math.max(top, logits[i] as number);
  const out = Float64Array.from(logits, (logit) => (logit - top) / temperature);
  let sum = 0;
  for (const value of out) sum += Math.exp(value);
  const logSum = Math.log(sum);
  return out.map((value) => value - logSum);
}

/** Entropy in nats of a distribution given by its log-probabilities; what has probability 0 contributes 0. */
export function entropy(logprobs: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < logprobs.length; i++) {
    const logprob = logprobs[i] as number;
    if (logprob !== -Infinity) sum -= Math.exp(logprob) * logprob;
  }
  return sum;
}

/** Gradient of a token's logprob with respect to the logits, (onehot - p) / temperature. (V). */
export function logprobGradient(logprobs: ArrayLike<number>, token: number, temperature: number): Float64Array {
  return Float64Array.from(logprobs, (logprob, i) => ((i === token ? 1 : 0) - Math.exp(logprob)) / temperature);
}

/** Gradient of the entropy with respect to the logits, -p (log p + H) / temperature. (V). */
export function entropyGradient(logprobs: ArrayLike<number>, temperature: number): Float64Array {
  const h = entropy(logprobs);
  return Float64Array.from(logprobs, (logprob) =>
    logprob === -Infinity ? 0 : (-Math.exp(logprob) * (logprob + h)) / temperature,
  );
}

/** A next-token distribution before and after truncation, (V) each. */
export interface TruncatedDistribution {
  /** Log-probabilities with temperature and without truncation: what a trainer must recompute. */
  logprobs: Float64Array;
  entropy: number;
  /** Sum of squared probabilities, the chance that two draws agree. */
  sumSquares: number;
  /** What is sampled from; 0 where `kept` is 0. */
  probabilities: Float64Array;
  kept: Uint8Array;
}

/**
 * The distribution that tokens are sampled from: temperature, then the topK most likely, then the smallest set whose
 * mass before its last token is below topP of what is left, then those with at least minP of the largest. Of equally
 * likely tokens the lower id counts as likelier. Temperature 0 keeps the most likely token only.
 */
export function truncatedDistribution(logits: ArrayLike<number>, sampling: Sampling): TruncatedDistribution {
  const greedy = sampling.temperature === 0;
  const logprobs = logSoftmax(logits, greedy ? 1 : sampling.temperature);
  const full = logprobs.map((logprob) => Math.exp(logprob));
  const order = Array.from(full.keys()).sort((a, b) => (logits[b] as number) - (logits[a] as number) || a - b);
  const ids = keptIds(order, full, greedy ? { ...sampling, topK: 1 } : sampling);
  const mass = ids.reduce((sum, id) => sum + (full[id] as number), 0);
  const kept = new Uint8Array(full.length);
  const probabilities = new Float64Array(full.length);
  for (const id of ids) {
    kept[id] = 1;
    probabilities[id] = (full[id] as number) / mass;
  }
  const sumSquares = full.reduce((sum, p) => sum + p * p, 0);
  return { logprobs, entropy: entropy(logprobs), sumSquares, probabilities, kept };
}

/** Ids that stay, most likely first: `order` cut by topK, topP and minP in turn. */
function keptIds(order: readonly number[], full: Float64Array, { topK, topP, minP }: Sampling): number[] {
  let ids = topK > 0 ? order.slice(0, topK) : [...order];
  const mass = ids.reduce((sum, id) => sum + (full[id] as number), 0);
  if (topP < 1) {
    let before = 0;
    let n = 0;
    while (n < ids.length && (n === 0 || before / mass < topP)) before += full[ids[n++] as number] as number;
    ids = ids.slice(0, n);
  }
  const floor = minP * (full[ids[0] as number] as number);
  return minP > 0 ? ids.filter((id) => (full[id] as number) >= floor) : ids;
}
