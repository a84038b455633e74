import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { shown } from "../../../../examples/lessons/reading.ts";
import type { MetricsLines } from "./lesson_gateway.ts";
import { TextTable } from "./text_table.tsx";

/** One run's values of a metric over its updates. */
export interface CurveLine {
  readonly name: string;
  readonly points: readonly { update: number; value: number }[];
}

/** The points of a metric that are numbers. */
export function pointsOf(lines: MetricsLines, metric: string): CurveLine["points"] {
  return lines.flatMap((line, i) => {
    const value = line[metric];
    return typeof value === "number" ? [{ update: Number(line.step ?? i + 1), value }] : [];
  });
}

const width = 640;
const height = 220;
const left = 46;
const right = 12;
const top = 12;
const bottom = 26;

/** Lowest and highest value, with some room where all are the same. */
function rangeOf(values: readonly number[]): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

/** Digits after the point that tell the lines of the grid apart. */
function digitsFor(low: number, high: number): number {
  return Math.min(6, Math.max(2, 1 - Math.floor(Math.log10(high - low))));
}

interface CurveProps {
  readonly title: string;
  readonly updateName: string;
  /** What the same as a table is called. */
  readonly tableName: string;
  readonly lines: readonly CurveLine[];
}

function CurveTable({ title, updateName, lines }: Omit<CurveProps, "tableName">): JSX.Element {
  const updates = [...new Set(lines.flatMap(({ points }) => points.map(({ update }) => update)))].sort((a, b) => a - b);
  return (
    <TextTable
      caption={title}
      head={[updateName, ...lines.map(({ name }) => name)]}
      rows={updates.map((update) => [
        String(update),
        ...lines.map(({ points }) => shown(points.find((point) => point.update === update)?.value, 4)),
      ])}
      named
    />
  );
}

/** A metric over the updates, one line per run, and the same as a table. */
export function Curve({ title, updateName, tableName, lines }: CurveProps): JSX.Element | null {
  const all = lines.flatMap(({ points }) => points);
  if (all.length === 0) return null;
  const [low, high] = rangeOf(all.map(({ value }) => value));
  const digits = digitsFor(low, high);
  const last = Math.max(2, ...all.map(({ update }) => update));
  const x = (update: number): number => left + ((update - 1) / (last - 1)) * (width - left - right);
  const y = (value: number): number => top + (1 - (value - low) / (high - low)) * (height - top - bottom);
  return (
    <figure class="ls-figure">
      <figcaption>{title}</figcaption>
      <svg class="ls-curve" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={title}>
        {[low, (low + high) / 2, high].map((value) => (
          <g key={value}>
            <line class="ls-grid" x1={left} x2={width - right} y1={y(value)} y2={y(value)} />
            <text x={left - 6} y={y(value) + 4} text-anchor="end">
              {shown(value, digits)}
            </text>
          </g>
        ))}
        <text x={width - right} y={height - 6} text-anchor="end">
          {`${updateName} ${last}`}
        </text>
        {lines.map(({ name, points }, i) => (
          <polyline
            key={name}
            class={`ls-line ls-line-${i % 4}`}
            points={points.map(({ update, value }) => `${x(update).toFixed(1)},${y(value).toFixed(1)}`).join(" ")}
          />
        ))}
      </svg>
      <ul class="ls-legend">
        {lines.map(({ name }, i) => (
          <li key={name}>
            <span class={`ls-key ls-key-${i % 4}`} aria-hidden="true" /> {name}
          </li>
        ))}
      </ul>
      <details>
        <summary>{tableName}</summary>
        <CurveTable {...{ title, updateName, lines }} />
      </details>
    </figure>
  );
}
