import type { ExperimentConfig } from "../../../src/schema/experiment.ts";
import type { MetricsRecord } from "../../../src/schema/studio.ts";
import type { StudioSnapshot } from "../../../src/schema/studio_api.ts";

/** Another run to compare with, from wherever it came. */
export interface OtherRun {
  readonly name: string;
  readonly lines: readonly MetricsRecord[];
  readonly config: ExperimentConfig | null;
}

function isLine(value: unknown): value is MetricsRecord {
  return typeof (value as { step?: unknown } | null)?.step === "number";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** What a report, a snapshot or a metrics.jsonl says of a run; null for a file that is none of these. */
export function runOfFile(name: string, text: string): OtherRun | null {
  // A report is parsed as a document that runs nothing, for the text of one element.
  const embedded = text.trimStart().startsWith("<")
    ? (new DOMParser().parseFromString(text, "text/html").getElementById("snapshot")?.textContent ?? "")
    : text;
  const whole = parsed(embedded) as Partial<StudioSnapshot> | null;
  if (whole?.format === "leyden-studio-1" && Array.isArray(whole.metrics)) {
    return { name: whole.run?.name ?? name, lines: whole.metrics.filter(isLine), config: whole.run?.config ?? null };
  }
  const lines = text.split("\n").map(parsed).filter(isLine);
  return lines.length === 0 ? null : { name, lines, config: null };
}

/** Values of a configuration by dotted path. */
function flat(value: unknown, path = ""): Map<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return new Map([[path, JSON.stringify(value)]]);
  const found = new Map<string, string>();
  for (const [key, inner] of Object.entries(value)) {
    for (const entry of flat(inner, path === "" ? key : `${path}.${key}`)) found.set(...entry);
  }
  return found;
}

/** Settings in which two configurations differ: path, value here, value there. */
export function configDifferences(
  a: ExperimentConfig,
  b: ExperimentConfig,
): [path: string, here: string, there: string][] {
  const [left, right] = [flat(a), flat(b)];
  const paths = [...new Set([...left.keys(), ...right.keys()])].sort();
  return paths.flatMap((path) => {
    const [here, there] = [left.get(path) ?? "–", right.get(path) ?? "–"];
    return here === there ? [] : [[path, here, there] as [string, string, string]];
  });
}
