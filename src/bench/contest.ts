import { LeydenError } from "../core/errors.ts";
import { type Measurement, summarizeSamples } from "./suite.ts";

/** One timed step, or the mean of some in a row. */
export interface StepTime {
  /** Wall milliseconds. */
  readonly ms: number;
  /** Processor milliseconds of all threads of its process. */
  readonly cpuMs: number;
  /** What the last step computed: the loss, or the product's first element. */
  readonly value: number;
}

/** Something that does the compared work. */
export interface Contender {
  /** Does `count` steps in a row and waits for the last. @throws LeydenError when it cannot go on */
  step(count: number): Promise<StepTime>;
  close(): Promise<void>;
}

/** Samples of two contenders that took turns. */
export interface Turns {
  readonly ours: readonly StepTime[];
  readonly peer: readonly StepTime[];
  /** The first step of each, which compiles. */
  readonly first: { readonly ours: StepTime; readonly peer: StepTime };
}

/** How two contenders take turns. */
export interface TurnOptions {
  readonly repeats: number;
  /** Largest difference of what both compute. */
  readonly tolerance: number;
  /** Called between turns, to let threads that wait busily go to sleep. */
  rest(): Promise<void>;
}

/** A turn lasts at least this long, in milliseconds, where ours is faster than that. */
const turnMs = 50;
const mostSteps = 100;

/**
 * Lets two contenders take turns at the same steps, each first in every other round, after one step that compiles and
 * one that shows how many steps make a turn.
 * @throws LeydenError "bench_result" when they compute different things
 */
export async function takeTurns(ours: Contender, peer: Contender, options: TurnOptions): Promise<Turns> {
  const turn = async (contender: Contender, count: number): Promise<StepTime> => {
    await options.rest();
    return contender.step(count);
  };
  let done = 0;
  const round = async (count: number, oursFirst: boolean): Promise<Turns["first"]> => {
    const first = await turn(oursFirst ? ours : peer, count);
    const second = await turn(oursFirst ? peer : ours, count);
    const times = oursFirst ? { ours: first, peer: second } : { ours: second, peer: first };
    done += count;
    requireSame(done, times, options.tolerance);
    return times;
  };
  const first = await round(1, true);
  const probe = await round(1, true);
  const count = Math.min(mostSteps, Math.max(1, Math.ceil(turnMs / probe.ours.ms)));
  const rounds: Turns["first"][] = [];
  for (let i = 0; i < options.repeats; i++) rounds.push(await round(count, i % 2 === 0));
  return { first, ours: rounds.map((r) => r.ours), peer: rounds.map((r) => r.peer) };
}

function requireSame(step: number, { ours, peer }: Turns["first"], tolerance: number): void {
  if (Math.abs(ours.value - peer.value) <= tolerance) return;
  const message = `After step ${step} the peer has ${peer.value} and Leyden ${ours.value}.`;
  const advice = "Times of different results cannot be compared. Run npm test to see which of them is wrong.";
  throw new LeydenError("bench_result", message, { do: advice }, 1);
}

/** The measurement that turns make: ours as its samples, the peer's and both ratios (above 1: ours is faster). */
export function measurementOf(name: string, peer: string, turns: Turns, otherLoad: number | null): Measurement {
  const samples = turns.ours.map(({ ms }) => ms);
  const ours = summarizeSamples(samples);
  const theirs = summarizeSamples(turns.peer.map(({ ms }) => ms));
  const cpu = (times: readonly StepTime[]) => summarizeSamples(times.map(({ cpuMs }) => cpuMs)).median;
  const [oursCpu, peerCpu] = [cpu(turns.ours), cpu(turns.peer)];
  const facts = {
    peer,
    ours_ms: ours.median,
    ours_min_ms: ours.min,
    ours_max_ms: ours.max,
    peer_ms: theirs.median,
    peer_min_ms: theirs.min,
    peer_max_ms: theirs.max,
    speedup: theirs.median / ours.median,
    ours_cpu_ms: oursCpu,
    peer_cpu_ms: peerCpu,
    cpu_speedup: peerCpu / oursCpu,
    ours_first_ms: turns.first.ours.ms,
    peer_first_ms: turns.first.peer.ms,
    other_load: otherLoad,
  };
  return { name, samples, facts };
}
