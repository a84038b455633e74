import type { MetricsRecord } from "../../../src/schema/studio.ts";
import type { ChartProps, Series } from "./chart.tsx";
import { column, has, stepsOf } from "./metrics.ts";
import type { Say, TextKey } from "./texts.ts";

/** One line of a chart: a number of metrics.jsonl under a name for people. */
interface Line {
  readonly name: string;
  readonly text: TextKey;
  readonly color: string;
  readonly dots?: boolean;
}

interface ChartSpec {
  readonly id: string;
  readonly title: TextKey;
  readonly hint: TextKey;
  readonly lines: readonly Line[];
  readonly floor?: number;
  readonly ceiling?: number;
}

/** The charts of the overview, under the names of metrics.jsonl. */
const specs: readonly ChartSpec[] = [
  {
    id: "reward",
    title: "chart.reward",
    hint: "chart.reward.hint",
    floor: 0,
    ceiling: 1,
    lines: [
      { name: "training/reward", text: "line.reward", color: "st-a" },
      { name: "val/reward", text: "line.validation", color: "st-b", dots: true },
    ],
  },
  {
    id: "entropy",
    title: "chart.entropy",
    hint: "chart.entropy.hint",
    floor: 0,
    lines: [{ name: "actor/entropy", text: "line.entropy", color: "st-c" }],
  },
  {
    id: "mass",
    title: "chart.mass",
    hint: "chart.mass.hint",
    floor: -0.1,
    ceiling: 0.1,
    lines: [{ name: "training/signed_mass", text: "line.mass", color: "st-d" }],
  },
  {
    id: "speed",
    title: "chart.speed",
    hint: "chart.speed.hint",
    floor: 0,
    lines: [{ name: "perf/throughput", text: "line.speed", color: "st-e" }],
  },
  {
    id: "age",
    title: "chart.age",
    hint: "chart.age.hint",
    floor: 0,
    ceiling: 1,
    lines: [
      { name: "async/age_mean", text: "line.ageMean", color: "st-a" },
      { name: "async/age_max", text: "line.ageMax", color: "st-d" },
    ],
  },
  {
    id: "length",
    title: "chart.length",
    hint: "chart.length.hint",
    floor: 0,
    lines: [
      { name: "response_length/training/avg_by_turn", text: "line.lengthMean", color: "st-b" },
      { name: "response_length/training/max_by_turn", text: "line.lengthMax", color: "st-c" },
    ],
  },
  {
    id: "step",
    title: "chart.step",
    hint: "chart.step.hint",
    floor: 0,
    lines: [
      { name: "actor/grad_norm", text: "line.gradNorm", color: "st-e" },
      { name: "actor/pg_clipfrac", text: "line.clipFrac", color: "st-d" },
      { name: "actor/kl_loss", text: "line.kl", color: "st-b" },
    ],
  },
  {
    id: "groups",
    title: "chart.groups",
    hint: "chart.groups.hint",
    floor: 0,
    lines: [
      { name: "training/n_groups", text: "line.groups", color: "st-a" },
      { name: "training/n_zero_adv_groups", text: "line.flatGroups", color: "st-c" },
    ],
  },
];

/** A chart with an id that stays the same. */
export interface KnownChart extends ChartProps {
  readonly id: string;
}

/** The charts of one run; lines that it never wrote are left out, but for the first of a chart. */
export function chartsOf(lines: readonly MetricsRecord[], say: Say): KnownChart[] {
  const steps = stepsOf(lines);
  return specs.map((spec) => ({
    ...shared(spec, say),
    steps,
    series: spec.lines
      .filter((line, i) => i === 0 || has(lines, line.name))
      .map(
        ({ name, text, color, dots }): Series => ({
          label: say(text),
          color,
          values: column(lines, name),
          ...(dots ? { dots } : {}),
        }),
      ),
  }));
}

function shared({ id, title, hint, floor, ceiling }: ChartSpec, say: Say): Omit<KnownChart, "steps" | "series"> {
  return {
    id,
    title: say(title),
    hint: say(hint),
    ...(floor === undefined ? {} : { floor }),
    ...(ceiling === undefined ? {} : { ceiling }),
  };
}

/** The charts of two runs: the first line of each chart, once per run, over the updates of both. */
export function comparedCharts(
  own: readonly MetricsRecord[],
  other: readonly MetricsRecord[],
  names: readonly [string, string],
  say: Say,
): KnownChart[] {
  const steps = [...new Set([...stepsOf(own), ...stepsOf(other)])].sort((a, b) => a - b);
  const along = (lines: readonly MetricsRecord[], name: string): (number | null)[] => {
    const values = new Map(stepsOf(lines).map((step, i) => [step, column(lines, name)[i] ?? null]));
    return steps.map((step) => values.get(step) ?? null);
  };
  const pairs = specs.flatMap((spec) =>
    spec.lines.slice(0, spec.id === "reward" ? 2 : 1).map((line) => ({ spec, line })),
  );
  return pairs.map(({ spec, line }) => ({
    ...shared(spec, say),
    id: `${spec.id} ${line.name}`,
    title: spec.lines.length > 1 ? `${say(spec.title)}: ${say(line.text)}` : say(spec.title),
    steps,
    series: [
      { label: names[0], color: "st-a", values: along(own, line.name), ...(line.dots ? { dots: true } : {}) },
      {
        label: names[1],
        color: "st-d",
        values: along(other, line.name),
        ...(line.dots ? { dots: true } : { dashed: true }),
      },
    ],
  }));
}
