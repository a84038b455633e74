import type { Numbers } from "./masked.ts";

/** How old the tokens of a step are, in policy versions. */
export interface Staleness {
  /** Mean and largest age over tokens with a version; 0 without any. */
  ageMean: number;
  ageMax: number;
  /** Number of tokens by age. */
  histogram: Map<number, number>;
  /** Samples whose tokens were drawn under more than one version. */
  mixedSamples: number;
  /** Tokens whose version was not recorded: they are in no other number here. */
  unversionedTokens: number;
}

/** Ages of sampled tokens against the version that is being trained, each sample given by its tokens' versions. */
export function staleness(
  samples: readonly { length: number; versions: Numbers | null }[],
  version: number,
): Staleness {
  const out: Staleness = { ageMean: 0, ageMax: 0, histogram: new Map(), mixedSamples: 0, unversionedTokens: 0 };
  let n = 0;
  let sum = 0;
  for (const { length, versions } of samples) {
    if (versions === null || versions.length !== length) {
      out.unversionedTokens += length;
      continue;
    }
    let mixed = false;
    for (let t = 0; t < length; t++) {
      const age = version - (versions[t] as number);
      if (versions[t] !== versions[0]) mixed = true;
      out.histogram.set(age, (out.histogram.get(age) ?? 0) + 1);
      out.ageMax = Math.max(out.ageMax, age);
      sum += age;
      n++;
    }
    if (mixed) out.mixedSamples++;
  }
  out.ageMean = n === 0 ? 0 : sum / n;
  return out;
}
