import { FormatError } from "../core/errors.ts";
import { type AsyncPiece, mean, type PieceResult, runPiece } from "./async/run_mode.ts";
import { asyncModel, asyncWork } from "./async/workload.ts";
import type { BenchContext, FactValue, Measurement, Suite } from "./suite.ts";

const modes = ["sync", "collocated", "interleaved"] as const;
const latencies = ["tools", "zero"] as const;
/** Times are of the first three; rewards, whose noise is larger, of all. */
const timedSeeds = [1, 2, 3];
const rewardSeeds = [4, 5];

/** Every piece of the suite. Without latency the schedule is the same and the runs are short: these give the rewards. */
const pieces: readonly AsyncPiece[] = [
  ...timedSeeds.flatMap((seed) => latencies.flatMap((latency) => modes.map((mode) => ({ seed, mode, latency })))),
  ...rewardSeeds.flatMap((seed) => modes.map((mode) => ({ seed, mode, latency: "zero" as const }))),
];

function nameOf({ seed, mode, latency }: AsyncPiece): string {
  return `async_${latency}_${mode}_s${seed}`;
}

/** Sync, collocated and interleaved schedules on one list of work. */
export const asyncSuite: Suite = {
  name: "async",
  summary: "a fixed list of agents' work consumed to its end by each schedule, with tools that take time and without",
  choices: pieces.map(nameOf),
  async *run(context) {
    const chosen = pieces.filter((piece) => context.only.length === 0 || context.only.includes(nameOf(piece)));
    const results: PieceResult[] = [];
    for (const piece of chosen) {
      const result = (await saved(context, piece)) ?? (await measure(context, piece));
      results.push(result);
      yield measurementOf(result);
    }
    for (const latency of latencies) {
      const timed = results.filter((r) => r.latency === latency && timedSeeds.includes(r.seed));
      if (timed.length === timedSeeds.length * modes.length) yield summaryOf(latency, timed, results);
    }
  },
};

function placeOf({ platform, state }: BenchContext, piece: AsyncPiece): string | null {
  return state === null ? null : platform.files.join(state, `${nameOf(piece)}.json`);
}

/** A piece that an earlier run left in the state folder. */
async function saved(context: BenchContext, piece: AsyncPiece): Promise<PieceResult | null> {
  const { files } = context.platform;
  const place = placeOf(context, piece);
  if (place === null || !(await files.exists(place))) return null;
  const result = JSON.parse(await files.readText(place)) as PieceResult;
  if (result.seed === piece.seed && result.mode === piece.mode) return result;
  throw new FormatError("bench_state", `${place} holds another piece than its name says.`, { do: "Remove the file." });
}

async function measure(context: BenchContext, piece: AsyncPiece): Promise<PieceResult> {
  const { platform } = context;
  const { files } = platform;
  const folder = files.join(platform.cacheFolder, "bench", `${nameOf(piece)}-${platform.clock.now()}`);
  const result = await runPiece(platform, piece, folder, (line) => context.note(line));
  const place = placeOf(context, piece);
  if (place !== null) await files.write(place, `${JSON.stringify(result)}\n`);
  return result;
}

function measurementOf(result: PieceResult): Measurement {
  const { seconds, deviceSeconds, predicted, calibration, ...facts } = result;
  return {
    name: nameOf(result),
    samples: [1000 * seconds],
    facts: {
      ...facts,
      seconds,
      idle: deviceSeconds.idle / seconds,
      device_s: { ...deviceSeconds },
      predicted_s: predicted.seconds,
      predicted_error: predicted.seconds / seconds - 1,
      predicted_device_s: predicted.deviceSeconds,
      costs_ms: { ...calibration.costs, turn: calibration.turnMs },
      predicted_prompt_tokens: predicted.promptTokens,
      predicted_decode_steps: predicted.decodeSteps,
    },
  };
}

type ByMode<T> = Record<(typeof modes)[number], T>;

function byMode<T>(value: (mode: (typeof modes)[number]) => T): ByMode<T> {
  return { sync: value("sync"), collocated: value("collocated"), interleaved: value("interleaved") };
}

function summaryOf(
  latency: AsyncPiece["latency"],
  timed: readonly PieceResult[],
  all: readonly PieceResult[],
): Measurement {
  const of = (mode: string): PieceResult[] => timed.filter((r) => r.mode === mode);
  const seconds = byMode((mode) => mean(of(mode).map((r) => r.seconds)));
  const kinds = ["prefill", "decode", "train", "optimizer", "idle"] as const;
  const device = byMode((mode) =>
    Object.fromEntries(kinds.map((kind) => [kind, mean(of(mode).map((r) => r.deviceSeconds[kind]))])),
  );
  const zero = (mode: string): number[] =>
    all.filter((r) => r.latency === "zero" && r.mode === mode).map((r) => r.heldOutReward);
  const facts: Record<string, FactValue> = {
    sync_s: seconds.sync,
    collocated_s: seconds.collocated,
    interleaved_s: seconds.interleaved,
    tasks: asyncWork.groups,
    idle: byMode((mode) => mean(of(mode).map((r) => r.deviceSeconds.idle / r.seconds))),
    device_s: device,
    max_age: byMode((mode) => Math.max(...of(mode).map((r) => r.maxGroupAge))),
    drain_s: byMode((mode) => mean(of(mode).map((r) => r.drainSeconds))),
    speedup: {
      collocated: seconds.sync / seconds.collocated,
      interleaved: seconds.sync / seconds.interleaved,
      interleaved_over_collocated: seconds.collocated / seconds.interleaved,
    },
    predicted_s: byMode((mode) => mean(of(mode).map((r) => r.predicted.seconds))),
    predicted_error_max: byMode((mode) =>
      Math.max(...of(mode).map((r) => Math.abs(r.predicted.seconds / r.seconds - 1))),
    ),
    held_out_reward: byMode((mode) => mean(zero(mode))),
    held_out_seeds: byMode((mode) => zero(mode).length),
    held_out_sd: byMode((mode) => deviation(zero(mode))),
    config: { ...asyncWork, latency, seeds: timedSeeds.join(","), model: { ...asyncModel } },
    adapter: timed[0]?.adapter ?? "",
  };
  return {
    name: latency === "tools" ? "async" : "async_zero",
    samples: of("interleaved").map((r) => 1000 * r.seconds),
    facts,
  };
}

/** Standard deviation of a sample; 0 below two. */
function deviation(values: readonly number[]): number {
  const m = mean(values);
  return values.length < 2 ? 0 : Math.sqrt(values.reduce((s, v) => s + (v - m) ** 2, 0) / (values.length - 1));
}
