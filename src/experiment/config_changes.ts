import type { ExperimentConfig } from "../schema/experiment.ts";
import { clipRangeOf, ownClipRange } from "./objective.ts";

/** A configuration as a run takes it: with the clip range that it comes to, or none for a loss that reads none. */
function taken(config: ExperimentConfig): ExperimentConfig {
  const { train } = config;
  const own = ownClipRange(train.loss);
  const readsNone = own.clipLow === 0 && own.clipHigh === 0;
  return { ...config, train: { ...train, ...(readsNone ? own : clipRangeOf(train)) } };
}

/** A section of a configuration by key, or what has no sections by an empty one. */
function valuesOf(section: unknown): [key: string, value: unknown][] {
  return typeof section === "object" && section !== null ? Object.entries(section) : [["", section]];
}

/** Every value of a configuration as JSON, by dotted path. */
function byPath(config: ExperimentConfig): Map<string, string> {
  const entries = Object.entries(config).flatMap(([section, values]) =>
    valuesOf(values).map(([key, value]): [string, string] => [
      key === "" ? section : `${section}.${key}`,
      JSON.stringify(value) ?? "none",
    ]),
  );
  return new Map(entries);
}

/** One value that is not the same in two configurations, by its dotted path; both sides as JSON, "none" for no value. */
interface Change {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

function changesBetween(before: ExperimentConfig, after: ExperimentConfig): Change[] {
  const [old, now] = [byPath(taken(before)), byPath(taken(after))];
  const paths = [...new Set([...old.keys(), ...now.keys()])];
  return paths
    .filter((path) => old.get(path) !== now.get(path))
    .map((path) => ({ path, before: old.get(path) ?? "none", after: now.get(path) ?? "none" }));
}

function textOf({ path, before, after }: Change): string {
  return `${path} ${before} -> ${after}`;
}

/**
 * What is not the same in two configurations, one value each: "train.learningRate 0.001 -> 0.0005". A clip range that is
 * given is the same as "auto" where the loss's own is that range.
 */
export function configChanges(before: ExperimentConfig, after: ExperimentConfig): string[] {
  return changesBetween(before, after).map(textOf);
}

/** Sections, and values of `train`, that decide what a rollout is: its task, its draws, its agent and its reward. */
const rolloutSections = ["seed", "model", "task", "rollout"];
const rolloutTrainKeys = ["temperature", "loraRank", "loraAlpha", "loraTargets", "rslora", "policies"];

/** Values of those sections that decide only how many rollouts are at work at once, and how fast. */
const paceKeys = new Set([
  ...["kvTokens", "memoryBytes", "maxSequences", "prefillTokens", "burst"].map((key) => `model.${key}`),
  ...["concurrency", "startConcurrency", "nice", "queueSeconds", "retries"].map((key) => `rollout.${key}`),
]);

/**
 * What of `configChanges` makes rollouts of before and after unlike, so that they must not be compared in one group. What
 * only says how they are trained, such as the learning rate, or how many are at work at once, does not.
 */
export function rolloutChanges(before: ExperimentConfig, after: ExperimentConfig): string[] {
  const decides = ({ path }: Change): boolean => {
    const [section = "", key = ""] = path.split(".");
    if (paceKeys.has(path)) return false;
    return rolloutSections.includes(section) || (section === "train" && rolloutTrainKeys.includes(key));
  };
  return changesBetween(before, after).filter(decides).map(textOf);
}
