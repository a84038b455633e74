import type { Device } from "../gpu/device.ts";
import { type Kernel, kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, linearGroups, type ScalarArg } from "../gpu/plan_values.ts";
import { dimMax, requireDims, type Tensor } from "../gpu/tensor.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { pageTokens } from "./kv_pages.ts";
import type { SampleState } from "./sample_state.ts";

const shared = kernel("sample", wgsl.sample, "sample");
/** The same text with one invocation per row in place of a workgroup. */
const alone = kernel("sample", wgsl.sample.replace(wgsl.lanes_shared, wgsl.lanes_alone), "sample");

/** Inputs of `sample`. S sequences, B rows of this step; a sequence has at most one row. */
export interface SampleIn {
  /** (B,V) */
  readonly logits: Tensor;
  /** (B) u32, plan input: the sequence of each row */
  readonly seq: Tensor;
  /** (S,8) u32, plan input: `encodeSampleParams` */
  readonly params: Tensor;
  /** (S,n) u32, plan input: up to n ids that end the sequence, `none` where unused */
  readonly stops: Tensor;
  /** (S,P) u32, plan input: the sequence's pages, `none` where it has none */
  readonly pages: Tensor;
  /** (n,S) u32, plan input: ids to return at step t < n, `none` to draw; replaces the params' forced id there */
  readonly forced?: Tensor;
  readonly state: SampleState;
  /** (steps,S,4) u32, lasting: what `decodeOutcome` reads */
  readonly out: Tensor;
}

/**
 * Records one step of sampling: each row's sequence gets its next id and log-probability into `out` at `step`, and its
 * state moves on (id, position, slot, counter, status), so that replays can follow each other without the host.
 * Sequences whose status is not running are passed over. All truncation and draws are as shaders/sample.wgsl states.
 * @throws ShapeError when a shape does not fit.
 */
export function sample(plan: PlanBuilder, inputs: SampleIn, step: ScalarArg): void {
  const { logits, seq, params, stops, pages, forced, state, out } = inputs;
  const [rows = 0, vocab = 0] = logits.shape;
  const sequences = state.sequences;
  requireDims("sample.logits", [rows, vocab], logits, "Pass a row of logits per sequence that draws.");
  requireDims("sample.seq", [rows], seq, "Pass one sequence per row.");
  requireDims("sample.params", [sequences, 8], params, "Pass encodeSampleParams of every sequence.");
  requireDims("sample.stops", [sequences, stops.shape[1] ?? 0], stops, "Pass a row of stop ids per sequence.");
  requireDims("sample.pages", [sequences, pages.shape[1] ?? 0], pages, "Pass a row of pages per sequence.");
  requireDims("sample.out", [out.shape[0] ?? 0, sequences, 4], out, "Pass four words per step and sequence.");
  if (forced !== undefined) {
    requireDims("sample.forced", [forced.shape[0] ?? 0, sequences], forced, "Pass one id per step and sequence.");
  }
  const grid = rowsPerGroup(plan.device, dimMax(vocab));
  plan.dispatch(grid.kernel, {
    tensors: { logits, seq, params, state: state.all, stops, pages, forced: forced ?? params, out },
    scalars: {
      rows,
      vocab,
      sequences,
      stride: state.stride,
      stop_count: stops.shape[1] as number,
      max_pages: pages.shape[1] as number,
      page_tokens: pageTokens,
      step,
      forced_steps: forced?.shape[0] ?? 0,
      half_lanes: grid.workgroup / 2,
    },
    constants: { WG: grid.workgroup, LANES: grid.workgroup / grid.rows },
    workgroups: (v) => linearGroups(Math.ceil(dimValue(rows, v) / grid.rows)),
  });
}

/** Longest row that a software adapter leaves to one invocation. */
const longestAlone = 4096;

/**
 * A software adapter pays for every barrier and idle lane, so it gives a row one invocation, or one subgroup's worth
 * where the row is long; a GPU gives it a workgroup.
 */
function rowsPerGroup(device: Device, vocab: number): { kernel: Kernel; workgroup: number; rows: number } {
  if (device.caps.deviceClass !== "software") return { kernel: shared, workgroup: 256, rows: 1 };
  if (vocab <= longestAlone) return { kernel: alone, workgroup: 8, rows: 8 };
  return { kernel: shared, workgroup: 8, rows: 1 };
}
