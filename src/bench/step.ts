import type { Clock } from "../core/clock.ts";
import { LeydenError } from "../core/errors.ts";
import type { Device } from "../gpu/device.ts";
import { type ProfiledDispatch, type ProfileEntry, summarizeProfile } from "../gpu/profiler.ts";
import { PeerStep, peerLosses } from "./peer_step.ts";
import { peerSizes } from "./peer_work.ts";
import { type FactValue, type Measurement, type Suite, summarizeSamples } from "./suite.ts";

/** Losses may differ from those of other libraries by this much. */
const lossTolerance = 2e-4;

/** The training step that other WebGPU libraries are measured with as well. */
export const stepSuite: Suite = {
  name: "step",
  summary: "a whole training step of a small decoder, the one other libraries are measured with",
  async *run({ openDevice, clock, repeats, profile }) {
    const device = await openDevice();
    try {
      const peer = new PeerStep(device, clock);
      const opened = clock.monotonic();
      const firstMs: number[] = [];
      for (const [i, known] of peerLosses.entries()) {
        requireLoss(i + 1, (await peer.step()).loss, known);
        firstMs.push(clock.monotonic() - opened);
      }
      const { samples, perStep } = await timeSteps(device, clock, peer, repeats);
      yield { name: "gpt_step", samples, facts: { ...peerSizes, first_step_ms: firstMs[0] as number, ...perStep } };
      if (profile) yield* profileSteps(device, clock, peer, repeats);
      peer.dispose();
    } finally {
      device.close();
    }
  },
};

/** Milliseconds of each step, and what one step asks of the device. */
async function timeSteps(
  device: Device,
  clock: Clock,
  peer: PeerStep,
  repeats: number,
): Promise<{ samples: number[]; perStep: Record<string, FactValue> }> {
  const counts = () => ({ ...device.counters, buffers: device.pool.usage.created });
  const before = counts();
  const samples: number[] = [];
  for (let i = 0; i < repeats; i++) {
    const start = clock.monotonic();
    await peer.step();
    samples.push(clock.monotonic() - start);
  }
  const after = counts();
  const each = (name: keyof typeof before): number => (after[name] - before[name]) / repeats;
  const perStep = {
    submits: each("submits"),
    dispatches: each("dispatches"),
    readbacks: each("readbacks"),
    buffers_created: each("buffers"),
    bind_groups_created: each("bindGroups"),
  };
  return { samples, perStep };
}

/** Milliseconds per kernel and shape, each dispatch run on its own; those that take longest first. */
async function* profileSteps(
  device: Device,
  clock: Clock,
  peer: PeerStep,
  repeats: number,
): AsyncIterable<Measurement> {
  const steps: ReadonlyMap<string, ProfileEntry>[] = [];
  for (let i = 0; i < repeats; i++) {
    const dispatches: ProfiledDispatch[] = [];
    device.profiler = { nowMs: () => clock.monotonic(), record: (dispatch) => dispatches.push(dispatch) };
    await peer.step();
    steps.push(new Map(summarizeProfile(dispatches).map((entry) => [nameOf(entry), entry])));
  }
  device.profiler = null;
  const rows = [...(steps[0] ?? [])].map(([name, entry]) => {
    const samples = steps.map((step) => step.get(name)?.ms ?? 0);
    return { name, entry, samples, median: summarizeSamples(samples).median };
  });
  const total = rows.reduce((sum, { median }) => sum + median, 0);
  for (const { name, entry, samples, median } of rows.sort((a, b) => b.median - a.median)) {
    const { count, flops, bytes } = entry;
    const rates = { gflops: flops === 0 ? null : flops / median / 1e6, gbps: bytes / median / 1e6 };
    yield { name, samples, facts: { dispatches: count, share: median / total, ...rates } };
  }
}

function nameOf({ label, shape }: ProfileEntry): string {
  return `gpt_step.${label.replace(/\.main$/, "")}${shape === "" ? "" : `.${shape}`}`;
}

/** @throws LeydenError "bench_result" when the step computes something else, whose time would say nothing */
function requireLoss(step: number, loss: number, known: number): void {
  if (Math.abs(loss - known) <= lossTolerance) return;
  const message = `Step ${step} has loss ${loss.toFixed(4)}; other libraries agree on ${known}.`;
  throw new LeydenError("bench_result", message, { do: "Run npm test: a kernel computes wrong results here." }, 1);
}
