import type { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import type { Tensor } from "../../src/gpu/tensor.ts";
import { sample } from "../../src/ops/sample.ts";
import {
  createSampleState,
  decodeOutcome,
  decodeSampleState,
  encodeSampleParams,
  none,
  type SampleOutcome,
  type SampleParams,
  type SequenceState,
  sampleStatus,
  writeSampleState,
} from "../../src/ops/sample_state.ts";
import { testDevice } from "./opcheck.ts";

/** Sequences that draw from fixed logits for some steps. */
export interface Burst {
  /** Logits of each row, the same at every step. */
  logits: readonly (readonly number[])[];
  params: readonly SampleParams[];
  steps?: number;
  /** Sequence of each row; default row i is sequence i. */
  seq?: readonly number[];
  states?: readonly Partial<SequenceState>[];
  stops?: readonly (readonly number[])[];
  pages?: readonly (readonly number[])[];
  forced?: readonly (readonly number[])[];
}

/** A sequence about to draw its first id. */
export const running: SequenceState = {
  id: 0,
  position: 0,
  slot: 0,
  drawn: 0,
  remaining: 1000,
  status: sampleStatus.running,
};

/** Replays one sampling plan `steps` times: outcomes [step][sequence], and the states after. */
export async function burst(
  device: Device,
  b: Burst,
): Promise<{ outcomes: SampleOutcome[][]; states: SequenceState[] }> {
  const steps = b.steps ?? 1;
  const S = b.params.length;
  const table = (rows: readonly (readonly number[])[] | undefined, fallback: number): [number[], number] => {
    const filled = Array.from({ length: S }, (_, s) => rows?.[s] ?? []);
    const width = Math.max(1, ...filled.map((r) => r.length));
    return [filled.flatMap((r) => [...r, ...new Array<number>(width - r.length).fill(fallback)]), width];
  };
  const [stopIds, stopCount] = table(b.stops, none);
  const [pageIds, pageCount] = table(b.pages ?? Array.from({ length: S }, () => [0, 1, 2, 3]), none);
  const state = createSampleState(device, S);
  writeSampleState(
    device,
    state,
    Array.from({ length: S }, (_, s) => ({ ...running, ...b.states?.[s] })),
  );
  const out = uploadTensor(device, "out", [steps, S, 4], new Uint32Array(steps * S * 4));
  const plan = new PlanBuilder(device, "sample");
  const input = (name: string, shape: number[], dtype: "u32" | "f32" = "u32"): Tensor => plan.input(name, shape, dtype);
  const rows = b.logits.length;
  const inputs = {
    logits: input("logits", [rows, b.logits[0]?.length ?? 0], "f32"),
    seq: input("seq", [rows]),
    params: input("params", [S, 8]),
    stops: input("stops", [S, stopCount]),
    pages: input("pages", [S, pageCount]),
    forced: b.forced && input("forced", [b.forced.length, S]),
  };
  sample(plan, { ...inputs, state, out }, plan.scalar("step"));
  plan.output("out", out);
  plan.output("state", state.all);
  const built = await plan.build();
  const data: Record<string, Float32Array | Uint32Array> = {
    logits: Float32Array.from(b.logits.flat()),
    seq: Uint32Array.from(b.seq ?? b.logits.keys()),
    params: encodeSampleParams(b.params),
    stops: Uint32Array.from(stopIds),
    pages: Uint32Array.from(pageIds),
  };
  if (b.forced !== undefined) data.forced = Uint32Array.from(b.forced.flat());
  for (let step = 0; step < steps - 1; step++) built.enqueue({ step }, step === 0 ? data : {});
  const read = (await built.run({ step: steps - 1 }, steps === 1 ? data : {})) as Record<"out" | "state", Uint32Array>;
  built.dispose();
  for (const t of [out, state.all]) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
  const outcomes = Array.from({ length: steps }, (_, step) =>
    Array.from({ length: S }, (_, s) => decodeOutcome(read.out, S, step, s)),
  );
  return { outcomes, states: decodeSampleState(state, read.state) };
}

/** One draw of each row, its sequence's parameters beside it. */
export async function sampleOnce(
  logits: readonly (readonly number[])[],
  params: readonly SampleParams[],
): Promise<SampleOutcome[]> {
  const { outcomes } = await burst(await testDevice(), { logits, params });
  return outcomes[0] as SampleOutcome[];
}
