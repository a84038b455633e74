/** Numbers in Prometheus' text format 0.0.4: its client libraries need a runtime's own modules, and tabs have none. */

/** One number with the labels that tell it from its siblings. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric: what it counts, and its samples. Names of counters end in _total. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly samples: readonly Sample[];
}

/** Content type of the text. */
export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

/** A name as the format allows: other characters become "_". */
export function metricName(name: string): string {
  const safe = name.replace(/[^a-zA-Z0-9_:]/g, "_");
  return /^\d/.test(safe) ? `_${safe}` : safe;
}

/** The families as text; those without samples are left out. */
export function exposition(families: readonly MetricFamily[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, help, type, samples }) => {
      const lines = samples.map(({ labels = {}, value }) => `${name}${labelText(labels)} ${numberText(value)}`);
      return [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
    })
    .join("");
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${metricName(name)}="${escaped(value, true)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(text: string, quotes = false): string {
  const plain = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return quotes ? plain.replaceAll('"', '\\"') : plain;
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}
