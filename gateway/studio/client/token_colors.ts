import type { StudioReply, StudioScore } from "../../../src/schema/studio_api.ts";
import type { TextKey } from "./texts.ts";

/** What tokens may be coloured by. */
export type TokenColoring = "advantage" | "logprob" | "version" | "entropy" | "none";

export const colorings: readonly TokenColoring[] = ["logprob", "advantage", "version", "entropy", "none"];

/** Names of what tokens are coloured by. */
export const coloringText: Readonly<Record<TokenColoring, TextKey>> = {
  advantage: "color.advantage",
  logprob: "color.logprob",
  version: "color.version",
  entropy: "color.entropy",
  none: "color.none",
};

/** Steps of each scale; the style sheet has a class for each. */
export const steps = 6;

/** What is known of a reply's tokens beyond their texts. */
export interface TokenFacts {
  readonly reply: StudioReply;
  /** One for all tokens, or one each; null when the call is not trained or nobody said. */
  readonly advantage: number | readonly number[] | null;
  readonly score: StudioScore | null;
}

/** A token's own number; null when there is none. */
export function tokenValue(facts: TokenFacts, coloring: TokenColoring, index: number): number | null {
  const { reply, advantage, score } = facts;
  if (coloring === "logprob") return reply.logprobs[index] ?? null;
  if (coloring === "version") return reply.versions[index] ?? null;
  if (coloring === "entropy") return score?.entropies[index] ?? null;
  if (coloring === "advantage") return typeof advantage === "number" ? advantage : (advantage?.[index] ?? null);
  return null;
}

/** A scale from numbers to classes, with what its ends mean. */
export interface TokenScale {
  classOf(value: number): string;
  /** Class and the number it stands for, from low to high. */
  readonly legend: readonly (readonly [className: string, value: number])[];
}

function bucket(share: number): number {
  return Math.max(0, Math.min(steps - 1, Math.floor(share * steps)));
}

/** Log-probabilities: the less likely, the stronger; -6 and below is the last step. */
const logprobScale: TokenScale = {
  classOf: (value) => `st-seq-${bucket(Math.min(1, -value / 6))}`,
  legend: Array.from({ length: steps }, (_, i) => [`st-seq-${i}`, i === 0 ? 0 : -i] as const),
};

function sequentialScale(values: readonly number[]): TokenScale {
  const high = values.reduce((a, b) => Math.max(a, b), 0) || 1;
  return {
    classOf: (value) => `st-seq-${bucket(value / high)}`,
    legend: Array.from({ length: steps }, (_, i) => [`st-seq-${i}`, (high * i) / (steps - 1)] as const),
  };
}

/** Advantages: below zero one colour, above it another, none at zero. */
function signedScale(values: readonly number[]): TokenScale {
  const high = values.reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1;
  const classOf = (value: number): string => {
    if (value === 0) return "st-zero";
    return `${value > 0 ? "st-up" : "st-down"}-${bucket(Math.abs(value) / high)}`;
  };
  const ends = [-1, -0.5, 0, 0.5, 1].map((share) => share * high);
  return { classOf, legend: ends.map((value) => [classOf(value), value] as const) };
}

function versionScale(values: readonly number[]): TokenScale {
  const versions = [...new Set(values)].sort((a, b) => a - b);
  const classOf = (value: number): string => `st-cat-${Math.max(0, versions.indexOf(value)) % steps}`;
  return { classOf, legend: versions.map((value) => [classOf(value), value] as const) };
}

/** The scale of a colouring over the tokens it is to tell apart; null when nothing is known. */
export function scaleOf(coloring: TokenColoring, values: readonly number[]): TokenScale | null {
  if (values.length === 0 || coloring === "none") return null;
  if (coloring === "logprob") return logprobScale;
  if (coloring === "advantage") return signedScale(values);
  return coloring === "version" ? versionScale(values) : sequentialScale(values);
}
