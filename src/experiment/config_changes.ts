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

/**
 * What is not the same in two configurations, one value each: "train.learningRate 0.001 -> 0.0005". A clip range that is
 * given is the same as "auto" where the loss's own is that range.
 */
export function configChanges(before: ExperimentConfig, after: ExperimentConfig): string[] {
  const [old, now] = [byPath(taken(before)), byPath(taken(after))];
  const paths = [...new Set([...old.keys(), ...now.keys()])];
  return paths
    .filter((path) => old.get(path) !== now.get(path))
    .map((path) => `${path} ${old.get(path) ?? "none"} -> ${now.get(path) ?? "none"}`);
}
