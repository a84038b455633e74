import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { MetricsRecord } from "../../../src/schema/studio.ts";
import { useStudio } from "./context.ts";
import { durationText } from "./format.ts";
import { ScrollRegion } from "./scroll_region.tsx";

/** Parts of an update's device time, in the order they are stacked, with their colours. */
const parts = [
  ["prefill", "st-a"],
  ["decode", "st-b"],
  ["train", "st-d"],
  ["optimizer", "st-c"],
  ["score", "st-e"],
  ["idle", "line"],
] as const;

/** Updates shown at most, the last ones. */
const most = 120;
const height = 160;

function secondsOf(line: MetricsRecord, part: string): number {
  const value = line[`device/${part}_s`];
  return typeof value === "number" ? value : 0;
}

/** Each update's device time as a stack, by what it went into. */
export function UpdateBars({ lines }: { lines: readonly MetricsRecord[] }): JSX.Element {
  const { say, language } = useStudio();
  const shown = lines.slice(-most);
  const totals = shown.map((line) => parts.reduce((sum, [part]) => sum + secondsOf(line, part), 0));
  const longest = Math.max(...totals, 1e-9);
  return (
    <figure class="st-chart">
      <div
        class="st-bars"
        style={{ height: `${height}px` }}
        role="img"
        aria-label={say("timeline.bars", { n: shown.length })}
      >
        {shown.map((line, i) => (
          <div key={String(line.step)} class="st-bar" title={`${line.step}: ${durationText(totals[i] ?? 0, language)}`}>
            {parts.map(([part, color]) => (
              <span
                key={part}
                style={{ height: `${(100 * secondsOf(line, part)) / longest}%`, background: `var(--${color})` }}
              />
            ))}
          </div>
        ))}
      </div>
      <p class="st-hint">{say("timeline.barsHint", { longest: durationText(longest, language) })}</p>
      <details class="st-data">
        <summary>{say("chart.table")}</summary>
        <ScrollRegion label={say("chart.table")}>
          <table>
            <thead>
              <tr>
                <th scope="col">{say("chart.update")}</th>
                {parts.map(([part]) => (
                  <th key={part} scope="col">
                    {say(`work.${part}`)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((line) => (
                <tr key={String(line.step)}>
                  <th scope="row">{String(line.step)}</th>
                  {parts.map(([part]) => (
                    <td key={part}>{durationText(secondsOf(line, part), language)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      </details>
    </figure>
  );
}
