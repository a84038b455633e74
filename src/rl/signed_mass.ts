/**
 * Signed mass M = sum(w A) / sum(w |A|) over the records of a step: 0 when pushes up and down balance, negative when
 * the step lowers the sampled tokens on the whole, which raises entropy. 0 when every advantage is 0.
 */
export function signedMass(weights: ArrayLike<number>, advantages: ArrayLike<number>): number {
  let signed = 0;
  let total = 0;
  for (let i = 0; i < weights.length; i++) {
    const product = (weights[i] as number) * (advantages[i] as number);
    signed += product;
    total += Math.abs(product);
  }
  return total === 0 ? 0 : signed / total;
}
