import type { ExperimentConfig } from "../schema/experiment.ts";

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

/** What is not the same in two configurations, one value each: "train.learningRate 0.001 -> 0.0005". */
export function configChanges(before: ExperimentConfig, after: ExperimentConfig): string[] {
  const [old, now] = [byPath(before), byPath(after)];
  const paths = [...new Set([...old.keys(), ...now.keys()])];
  return paths
    .filter((path) => old.get(path) !== now.get(path))
    .map((path) => `${path} ${old.get(path) ?? "none"} -> ${now.get(path) ?? "none"}`);
}
