import type { EngineInfo, EngineStats } from "../../src/schema/engine.ts";
import type { PauseState } from "../../src/schema/wire_proxy.ts";
import { type MetricFamily, metricName } from "./exposition.ts";

function counter(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: "counter", samples: [{ value }] };
}

function gauge(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: "gauge", samples: [{ value }] };
}

/** What the engine did and has to do. */
export function engineFamilies(stats: EngineStats, { version }: Pick<EngineInfo, "version">): MetricFamily[] {
  const { deviceSeconds, activeSequences, queuedSequences } = stats;
  return [
    {
      name: "leyden_device_seconds_total",
      help: "Seconds of the device by what it did; all kinds together are the time since the engine opened.",
      type: "counter",
      samples: Object.entries(deviceSeconds).map(([kind, value]) => ({ labels: { kind }, value })),
    },
    {
      name: "leyden_engine_sequences",
      help: "Sequences in flight, and those that wait for a place.",
      type: "gauge",
      samples: [
        { labels: { state: "active" }, value: activeSequences },
        { labels: { state: "queued" }, value: queuedSequences },
      ],
    },
    counter("leyden_prompt_tokens_total", "Prompt tokens computed.", stats.promptTokens),
    counter("leyden_cached_prompt_tokens_total", "Prompt tokens found in the cache.", stats.cachedTokens),
    counter("leyden_sampled_tokens_total", "Tokens drawn.", stats.sampledTokens),
    counter("leyden_decode_steps_total", "Decode steps of the device.", stats.decodeSteps),
    counter("leyden_device_losses_total", "Times the device was lost and reopened.", stats.deviceLosses),
    gauge("leyden_policy_version", "Version of the policy.", version),
  ];
}

/** What the gateway answers. */
export function gatewayFamilies(pause: PauseState, responses: ReadonlyMap<number, number>): MetricFamily[] {
  return [
    gauge("leyden_gateway_calls_in_flight", "Model calls under way.", pause.inflight),
    gauge("leyden_gateway_paused", "1 while new calls are held back.", pause.paused ? 1 : 0),
    {
      name: "leyden_gateway_responses_total",
      help: "Responses by status, model calls and all others.",
      type: "counter",
      samples: [...responses].map(([status, value]) => ({ labels: { status: String(status) }, value })),
    },
  ];
}

/** A number of metrics.jsonl as a sample: those of one policy of several stand under "policy/NAME/…". */
interface RunSample {
  /** As in metrics.jsonl. */
  readonly name: string;
  readonly family: string;
  readonly help: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

function runSample(name: string, value: number): RunSample {
  const [, policy, own] = /^policy\/([^/]+)\/(.+)$/.exec(name) ?? [];
  if (policy === undefined || own === undefined) {
    const help = `${name} of the last update, as in metrics.jsonl.`;
    return { name, family: `leyden_run_${metricName(name)}`, help, labels: {}, value };
  }
  const help = `${own} of the last update of a policy, as in metrics.jsonl.`;
  return { name, family: `leyden_run_policy_${metricName(own)}`, help, labels: { policy }, value };
}

/**
 * Samples of one family by their labels. Names that the format makes the same, such as a-b and a_b, would be one series:
 * each then says which it is.
 */
function told(samples: readonly RunSample[]): MetricFamily["samples"] {
  const series = ({ labels }: RunSample): string => JSON.stringify(labels);
  const times = new Map<string, number>();
  for (const sample of samples) times.set(series(sample), (times.get(series(sample)) ?? 0) + 1);
  return samples.map((sample) => {
    const { name, labels, value } = sample;
    return { labels: times.get(series(sample)) === 1 ? labels : { ...labels, name }, value };
  });
}

/**
 * The numbers of a training run's last update, each a gauge under its name of metrics.jsonl; those of several policies
 * are one gauge with the policy as its label.
 */
export function runFamilies(line: Readonly<Record<string, number | string | null>>): MetricFamily[] {
  const families = new Map<string, RunSample[]>();
  for (const [name, value] of Object.entries(line)) {
    if (typeof value !== "number") continue;
    const sample = runSample(name, value);
    families.set(sample.family, [...(families.get(sample.family) ?? []), sample]);
  }
  return [...families].map(([name, samples]) => ({
    name,
    help: (samples[0] as RunSample).help,
    type: "gauge",
    samples: told(samples),
  }));
}
