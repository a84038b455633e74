import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { ControlRequest, RunFault, RunStatus } from "../../schema/run_control.ts";
import { RunButtons } from "./control_panel.tsx";
import type { MetricsLine } from "./run_feed.ts";
import type { Say } from "./texts.ts";

function numbersOf(lines: readonly MetricsLine[], key: string): { update: number; value: number }[] {
  return lines.flatMap((line) => {
    const value = line[key];
    return typeof value === "number" ? [{ update: Number(line.step), value }] : [];
  });
}

function lastOf(lines: readonly MetricsLine[], key: string, digits: number, none: string): string {
  const value = numbersOf(lines, key).at(-1)?.value;
  return value === undefined ? none : value.toFixed(digits);
}

const width = 640;
const height = 200;
const left = 36;
const bottom = 24;

interface ChartProps {
  readonly lines: readonly MetricsLine[];
  readonly updates: number;
  readonly say: Say;
}

/** Rewards by update as a drawing, with the same numbers as a table for those who do not see it. */
function RewardChart({ lines, updates, say }: ChartProps): JSX.Element {
  const rewards = numbersOf(lines, "training/reward");
  const values = rewards.map(({ value }) => value);
  const low = Math.min(0, ...values);
  const high = Math.max(1, ...values);
  const x = (update: number): number => left + ((width - left - 12) * update) / Math.max(1, updates);
  const y = (value: number): number => 10 + ((height - bottom - 10) * (high - value)) / (high - low);
  const points = rewards.map(({ update, value }) => `${x(update).toFixed(1)},${y(value).toFixed(1)}`);
  const last = rewards.at(-1)?.value.toFixed(3) ?? "";
  return (
    <figure style="margin:0">
      <svg
        class="pg-chart"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={say("chart.summary", { count: rewards.length, last })}
      >
        {[low, (low + high) / 2, high].map((value) => (
          <g key={value}>
            <line class="pg-axis" x1={left} x2={width - 8} y1={y(value)} y2={y(value)} />
            <text x={left - 6} y={y(value) + 4} text-anchor="end">
              {value.toFixed(1)}
            </text>
          </g>
        ))}
        <text x={x(0)} y={height - 6}>
          0
        </text>
        <text x={x(updates)} y={height - 6} text-anchor="end">
          {updates}
        </text>
        <polyline class="pg-line" points={points.join(" ")} />
        {rewards.map(({ update, value }) => (
          <circle key={update} class="pg-dot" cx={x(update)} cy={y(value)} r="3.5">
            <title>{`${update}: ${value.toFixed(3)}`}</title>
          </circle>
        ))}
      </svg>
      <RewardTable lines={lines} say={say} />
    </figure>
  );
}

function RewardTable({ lines, say }: Pick<ChartProps, "lines" | "say">): JSX.Element {
  const validations = new Map(numbersOf(lines, "val/reward").map(({ update, value }) => [update, value]));
  return (
    <details class="pg-details">
      <summary>{say("chart.table")}</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">{say("chart.update")}</th>
            <th scope="col">{say("chart.reward")}</th>
            <th scope="col">{say("chart.validation")}</th>
          </tr>
        </thead>
        <tbody>
          {numbersOf(lines, "training/reward").map(({ update, value }) => (
            <tr key={update}>
              <td>{update}</td>
              <td>{value.toFixed(3)}</td>
              <td>{validations.get(update)?.toFixed(3) ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

/** The last held-out reward, with its update where others have finished since. */
function validationText(lines: readonly MetricsLine[], update: number, say: Say): string {
  const value = lastOf(lines, "val/reward", 3, say("fact.none"));
  const measured = numbersOf(lines, "val/reward").at(-1)?.update ?? update;
  return measured === update ? value : say("fact.after", { value, update: measured });
}

/** What the progress of a run is shown from. */
export interface ProgressProps {
  readonly status: RunStatus;
  readonly lines: readonly MetricsLine[];
  readonly say: Say;
  control(request: ControlRequest): Promise<RunFault | null>;
}

/** How far the run is: its state and what can be done to it, its last numbers, its rewards. */
export function Progress({ status, lines, say, control }: ProgressProps): JSX.Element {
  const none = say("fact.none");
  const { update, updates, phase, adapter } = status;
  const facts: readonly (readonly [string, string, string])[] = [
    [say("fact.update"), updates === 0 ? none : `${update} / ${updates}`, ""],
    [say("fact.reward"), lastOf(lines, "training/reward", 3, none), ""],
    [say("fact.validation"), validationText(lines, update, say), ""],
    [say("fact.entropy"), lastOf(lines, "actor/entropy", 3, none), ""],
    [say("fact.throughput"), lastOf(lines, "perf/throughput", 0, none), ""],
    [say("fact.adapter"), adapter === "" ? none : adapter, "pg-small"],
  ];
  return (
    <section class="pg-panel" aria-labelledby="pg-progress">
      <h2 id="pg-progress">{say("run.progress")}</h2>
      <div class="pg-state">
        <p role="status">
          {say("phase")}: <strong>{say(`phase.${phase}`)}</strong>
        </p>
        <RunButtons say={say} status={status} control={control} />
      </div>
      <div class="pg-meter" aria-hidden="true">
        <span style={`width:${updates === 0 ? 0 : Math.min(100, (100 * update) / updates)}%`} />
      </div>
      <dl class="pg-facts">
        {facts.map(([name, value, style]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={value === none ? "pg-small" : style}>{value}</dd>
          </div>
        ))}
      </dl>
      <h2>{say("chart.title")}</h2>
      {lines.length === 0 ? (
        <p class="pg-hint">{say("run.first")}</p>
      ) : (
        <RewardChart lines={lines} updates={updates} say={say} />
      )}
    </section>
  );
}
