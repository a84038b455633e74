import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import uPlot from "uplot";
import { useStudio } from "./context.ts";
import { numberText } from "./format.ts";
import { ScrollRegion } from "./scroll_region.tsx";
import { cssColor, useTheme } from "./theme.ts";

/** One line of a chart: its values stand beside the chart's steps; null where there is none. */
export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Name of the colour in the style sheet. */
  readonly color: string;
  /** Dots instead of a line, for what is measured now and then. */
  readonly dots?: boolean;
  readonly dashed?: boolean;
}

/** What a chart shows. */
export interface ChartProps {
  readonly title: string;
  readonly hint?: string;
  readonly steps: readonly number[];
  readonly series: readonly Series[];
  /** Always part of the vertical axis. */
  readonly floor?: number;
  readonly ceiling?: number;
}

const height = 170;

/** A chart over updates, with its numbers as a table behind it. */
export function Chart(props: ChartProps): JSX.Element {
  const { language } = useStudio();
  const { title, hint, steps, series } = props;
  const last = series.map(({ label, values }) => {
    const value = values.findLast((known) => known !== null);
    return `${label} ${numberText(value, language)}`;
  });
  return (
    <figure class="st-chart">
      <figcaption>
        <span class="st-chart-title">{title}</span>
        <span class="st-legend">
          {series.map(({ label, color, values }) => (
            <span key={label} class="st-legend-entry">
              <span class="st-swatch" style={{ background: `var(--${color})` }} />
              {label}{" "}
              <b>
                {numberText(
                  values.findLast((known) => known !== null),
                  language,
                )}
              </b>
            </span>
          ))}
        </span>
      </figcaption>
      {steps.length === 0 ? <Empty /> : <Plot {...props} label={`${title}: ${last.join(", ")}`} />}
      {hint === undefined ? null : <p class="st-hint">{hint}</p>}
      <DataTable steps={steps} series={series} />
    </figure>
  );
}

function Empty(): JSX.Element {
  const { say } = useStudio();
  return <p class="st-empty-chart">{say("chart.empty")}</p>;
}

function optionsOf({ series, floor, ceiling }: ChartProps, width: number): uPlot.Options {
  const axis = { stroke: cssColor("muted"), grid: { stroke: cssColor("line"), width: 1 }, ticks: { show: false } };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    scales: {
      x: { time: false },
      y: {
        range: (_, min, max) => uPlot.rangeNum(Math.min(min, floor ?? min), Math.max(max, ceiling ?? max), 0.08, true),
      },
    },
    axes: [
      { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000], size: 28, font: "11px system-ui" },
      { ...axis, size: 52, font: "11px system-ui" },
    ],
    series: [
      {},
      ...series.map(({ label, color, dots, dashed }) => ({
        label,
        stroke: cssColor(color),
        width: dots ? 0 : 1.75,
        spanGaps: true,
        points: { show: dots === true || undefined, size: 6, fill: cssColor(color) },
        ...(dashed ? { dash: [5, 4] } : {}),
      })),
    ],
  };
}

function Plot(props: ChartProps & { label: string }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const readout = useRef<HTMLDivElement>(null);
  const { language } = useStudio();
  const theme = useTheme();
  const { steps, series, label } = props;
  const form = series.map((one) => `${one.label} ${one.color}`).join("|");
  const made = useRef<uPlot | null>(null);
  useEffect(() => {
    const root = place.current;
    if (root === null) return;
    const data: uPlot.AlignedData = [[...steps], ...series.map(({ values }) => [...values])];
    const options = optionsOf(props, Math.max(200, root.clientWidth));
    const show = (plot: uPlot): void => {
      if (readout.current !== null) readout.current.textContent = readoutText(plot, language);
    };
    const plot = new uPlot({ ...options, hooks: { setCursor: [show] } }, data, root);
    made.current = plot;
    const sized = new ResizeObserver(() => plot.setSize({ width: Math.max(200, root.clientWidth), height }));
    sized.observe(root);
    return () => {
      sized.disconnect();
      plot.destroy();
      made.current = null;
    };
  }, [form, theme, language]);
  useEffect(() => {
    made.current?.setData([[...steps], ...series.map(({ values }) => [...values])]);
  }, [steps, series]);
  return (
    <div class="st-plot-frame">
      <div ref={place} class="st-plot" role="img" aria-label={label} />
      <div ref={readout} class="st-readout" aria-hidden="true" />
    </div>
  );
}

/** The values under the pointer. */
function readoutText({ cursor, data, series }: uPlot, language: "en" | "ko"): string {
  const at = cursor.idx;
  if (at === null || at === undefined) return "";
  const values = series.slice(1).map(({ label }, i) => `${label} ${numberText(data[i + 1]?.[at], language)}`);
  return `${numberText(data[0]?.[at], language)}: ${values.join(" · ")}`;
}

/** The same numbers for whoever reads them instead of seeing them; made when it is opened. */
function DataTable({ steps, series }: Pick<ChartProps, "steps" | "series">): JSX.Element {
  const { say, language } = useStudio();
  const from = Math.max(0, steps.length - 200);
  return (
    <details class="st-data">
      <summary>{say("chart.table")}</summary>
      <ScrollRegion label={say("chart.table")}>
        <table>
          <thead>
            <tr>
              <th scope="col">{say("chart.update")}</th>
              {series.map(({ label }) => (
                <th key={label} scope="col">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.slice(from).map((step, i) => (
              <tr key={step}>
                <th scope="row">{step}</th>
                {series.map(({ label, values }) => (
                  <td key={label}>{numberText(values[from + i], language)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </details>
  );
}
