import { ShapeError } from "../core/errors.ts";
import type { Kernel } from "../gpu/kernel.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { dimValue, linearGroups, type PlanValues, type ScalarArg } from "../gpu/plan_values.ts";
import { type Dim, dimMax, requireDims, type Tensor } from "../gpu/tensor.ts";
import { rowGrid } from "./grid.ts";
import { lossKernels, settleKernel } from "./loss_kernels.ts";
import { isCoupled, type LossKind, lossScalars } from "./loss_settings.ts";
import { matmul } from "./matmul/matmul.ts";
import type { Extent } from "./matmul/problem.ts";
import { type RecordIndex, recordIndex } from "./record_index.ts";
import { alignedRows, type RowWindow, rowWindows } from "./windows.ts";

/** Sequences of records, for losses that couple the records of one. */
export interface LossUnits {
  /** (R) u32: the sequence of each record. */
  readonly unit: Tensor;
  /** (U+1) and (R) u32: records of unit u are order[off[u]..off[u+1]). */
  readonly off: Tensor;
  readonly order: Tensor;
  /** (U,4) f32: sum and number of log ratios of its records outside the plan, its mean advantage, 0. */
  readonly outside: Tensor;
}

/** Inputs of the loss head: R prediction records over T hidden rows. */
export interface LossHeadIn {
  /** (T,C) */
  readonly h: Tensor;
  /** (V,C) */
  readonly w: Tensor;
  /** (R) u32: hidden row and predicted id of each record; both checked on the host by `requireIndices` */
  readonly src: Tensor;
  readonly target: Tensor;
  /** (R) f32 each */
  readonly weight: Tensor;
  readonly advantage: Tensor;
  readonly oldLogprob: Tensor;
  readonly refLogprob: Tensor;
  /** Required by losses that couple the records of a sequence. */
  readonly units?: LossUnits;
}

/** Where the gradients of the loss head go. */
export interface LossGradients {
  /** Accumulates; without it the head is frozen. */
  readonly w?: Tensor | undefined;
  /** Accumulates; without it the gradient of h is fresh. */
  readonly h?: Tensor | undefined;
  /** The records of each hidden row, where another head of the plan takes them too. */
  readonly index?: RecordIndex | undefined;
}

/** Options of the loss head. */
export interface LossHeadOptions {
  /** The loss that the plan computes. */
  kind: LossKind;
  /** Bytes that the logits of one chunk of records may take. */
  chunkBytes: number;
  /** Bounds the binding of one window of the vocabulary, for tests. */
  windowBytes: number;
}

/** What `lossHead` computes. */
export interface LossHeadOut {
  /** (R,8): logprob, entropy, weight * loss, ratio, clipped, dual-clipped, KL estimate, 0 */
  readonly stats: Tensor;
  /** (T,C), the gradient of h */
  readonly dh: Tensor;
}

const defaults: LossHeadOptions = {
  kind: "cross_entropy",
  chunkBytes: 64 * 2 ** 20,
  windowBytes: Number.POSITIVE_INFINITY,
};

/**
 * Records log-probabilities and entropies of the records' targets, without gradients: stats (R,8).
 * @throws ShapeError when a shape does not fit.
 */
export function scoreHead(plan: PlanBuilder, inputs: LossHeadIn, options?: Partial<LossHeadOptions>): Tensor {
  return new Head(plan, inputs, { ...defaults, ...options }).record(undefined).stats;
}

/**
 * Records the loss over all records with its gradients in one pass, so that no logits are kept or computed twice: logits
 * exist for one chunk of records at a time. Losses that couple the records of a sequence make two passes over the chunks
 * where there are several: log-probabilities, then the loss. Its numbers are the plan's values "loss.…" (`lossValues`),
 * and the plan has the inputs of `recordIndex`, unless that is given.
 * @throws ShapeError when a shape does not fit.
 */
export function lossHead(
  plan: PlanBuilder,
  inputs: LossHeadIn,
  into: LossGradients,
  options?: Partial<LossHeadOptions>,
): LossHeadOut {
  return new Head(plan, inputs, { ...defaults, ...options }).record(into) as LossHeadOut;
}

/** One chunk of records: its number, its size at a replay, and its tensors. */
interface Chunk {
  readonly first: number;
  readonly rows: Extract<Extent, { readonly kind: "computed" }>;
  readonly hg: Tensor;
  readonly fold: Tensor;
  /** Logits of each window of the vocabulary, later their gradient. */
  readonly logits: readonly Tensor[];
}

/** Records a loss head into a plan. */
class Head {
  private readonly plan: PlanBuilder;
  private readonly inputs: LossHeadIn;
  private readonly options: LossHeadOptions;
  private readonly scalars: Record<string, ScalarArg>;
  private readonly windows: readonly RowWindow[];
  private readonly records: Dim;
  private readonly width: number;

  constructor(plan: PlanBuilder, inputs: LossHeadIn, options: LossHeadOptions) {
    const [rows = 0, width = 0] = inputs.h.shape;
    const [vocab = 0] = inputs.w.shape;
    const [records = 0] = inputs.src.shape;
    requireDims("loss_head.h", [rows, width], inputs.h, "Pass a matrix of hidden rows.");
    requireDims("loss_head.w", [vocab, width], inputs.w, "Pass a head as wide as the hidden rows.");
    for (const name of ["src", "target", "weight", "advantage", "oldLogprob", "refLogprob"] as const) {
      requireDims(`loss_head.${name}`, [records], inputs[name], "Pass one number per record.");
    }
    this.plan = plan;
    this.inputs = inputs;
    this.options = options;
    this.windows = rowWindows(plan.device, inputs.w, options.windowBytes);
    this.records = records;
    this.width = width as number;
    const unused = { rows: 0, width: 0, first: 0, first_column: 0, fresh: 0 };
    this.scalars = { ...unused, ...lossScalars(plan) };
  }

  /** Records every chunk; with gradients when `into` is given. */
  record(into: LossGradients | undefined): { stats: Tensor; dh?: Tensor } {
    const { plan, records, width } = this;
    const stats = plan.temp([records, 8], "loss_head.stats");
    const dhg = into && plan.temp([records, width], "loss_head.dhg");
    const starts = this.chunkStarts();
    const step = starts[1] ?? dimMax(records);
    const start = (first: number): Chunk => this.startChunk(first, Math.min(step, dimMax(records) - first));
    const { measured, coupled } = this.couple(starts, start, stats);
    for (const first of starts) {
      const chunk = measured ?? start(first);
      this.settle(chunk, stats, coupled);
      if (dhg !== undefined) this.differentiate(chunk, dhg, into?.w);
      plan.cut();
    }
    return { stats, dh: dhg && into && this.scatter(dhg, into) };
  }

  /**
   * For losses that couple the records of a sequence: log-probabilities of all records, then every unit's mean log ratio
   * (U,2). A single chunk is returned to be used again.
   */
  private couple(
    starts: readonly number[],
    start: (first: number) => Chunk,
    stats: Tensor,
  ): { measured?: Chunk; coupled?: Tensor } {
    const { units, weight, advantage, oldLogprob } = this.inputs;
    if (!isCoupled(this.options.kind)) return {};
    if (units === undefined) throw missingUnits(this.options.kind);
    const { plan } = this;
    const chunks = starts.map((first) => {
      const chunk = start(first);
      this.overRecords(lossKernels.measure, chunk, { fold: chunk.fold, stats }, chunk.rows.value);
      plan.cut();
      return chunk;
    });
    const count = units.outside.shape[0] ?? 0;
    const coupled = plan.temp([count, 2], "loss_head.coupled");
    const { off, order, outside } = units;
    this.overRecords(
      lossKernels.couple,
      { first: 0 },
      { weight, advantage, old_logprob: oldLogprob, stats, unit_off: off, unit_order: order, outside, coupled },
      (v) => dimValue(count, v),
    );
    return { coupled, ...(chunks.length === 1 ? { measured: chunks[0] as Chunk } : {}) };
  }

  /** First record of each chunk. */
  private chunkStarts(): number[] {
    const step = this.chunkRows();
    return Array.from({ length: Math.ceil(dimMax(this.records) / step) }, (_, i) => i * step);
  }

  /** Records per chunk: as many as the budget holds, at offsets that are aligned in the gradient of the rows. */
  private chunkRows(): number {
    const { device } = this.plan;
    const unit = alignedRows(this.width * 4, device.caps.limits.offsetAlignment);
    const vocab = dimMax(this.inputs.w.shape[0] ?? 0);
    return Math.max(1, Math.floor(this.options.chunkBytes / (vocab * 4 * unit))) * unit;
  }

  /** Records the chunk's rows, its logits and their running statistics over all windows. */
  private startChunk(first: number, max: number): Chunk {
    const { plan, windows, width, inputs } = this;
    const value = (v: PlanValues): number => Math.min(Math.max(dimValue(this.records, v) - first, 0), max);
    const rows = { kind: "computed", max, value } as const;
    const hg = plan.temp([max, width], "loss_head.hg");
    const fold = plan.temp([max, 8], "loss_head.fold");
    const logits = windows.map((window) => plan.temp([max, window.rows], "loss_head.logits"));
    const chunk = { first, rows, hg, fold, logits };
    this.overRows(lossKernels.gather, rows, { h: inputs.h, src: inputs.src, hg }, { first, width });
    for (const [i, window] of windows.entries()) {
      const c = logits[i] as Tensor;
      matmul(plan, { a: hg, b: window.view, c, form: "NT", M: rows, N: window.rows, K: width });
      this.overRows(lossKernels.scan, rows, { logits: c, targets: inputs.target, fold }, this.at(chunk, window));
    }
    return chunk;
  }

  private settle(chunk: Chunk, stats: Tensor, coupled: Tensor | undefined): void {
    const { weight, advantage, oldLogprob, refLogprob, units } = this.inputs;
    const { kind } = this.options;
    const tensors = { fold: chunk.fold, weight, advantage, old_logprob: oldLogprob, ref_logprob: refLogprob, stats };
    const ofUnits: Record<string, Tensor> =
      coupled === undefined || units === undefined ? {} : { unit: units.unit, coupled };
    this.overRecords(settleKernel(kind), chunk, { ...tensors, ...ofUnits }, chunk.rows.value);
  }

  /** One invocation per record of a chunk, or per unit. */
  private overRecords(
    k: Kernel,
    { first }: Pick<Chunk, "first">,
    tensors: Record<string, Tensor>,
    rows: (values: PlanValues) => number,
  ): void {
    this.plan.dispatch(k, {
      tensors,
      scalars: { ...this.scalars, first, rows },
      constants: { WG: 64, LANES: 1 },
      workgroups: (v) => linearGroups(Math.ceil(rows(v) / 64)),
    });
  }

  /** Turns the chunk's logits into their gradients and these into the gradients of its rows and of the head. */
  private differentiate(chunk: Chunk, dhg: Tensor, dw: Tensor | undefined): void {
    const { plan, width, inputs, windows } = this;
    const { first, rows, hg, fold } = chunk;
    const rowsGradient = { ...dhg, shape: [rows.max, width], offsetBytes: dhg.offsetBytes + first * width * 4 };
    const gradients = dw && rowWindows(plan.device, dw, this.options.windowBytes);
    for (const [i, window] of windows.entries()) {
      const dlogits = chunk.logits[i] as Tensor;
      this.overRows(lossKernels.slope, rows, { logits: dlogits, targets: inputs.target, fold }, this.at(chunk, window));
      const [N, K] = [width, window.rows];
      matmul(plan, { a: dlogits, b: window.view, c: rowsGradient, form: "NN", M: rows, N, K, accumulate: i > 0 });
      const c = gradients?.[i]?.view;
      if (c !== undefined) matmul(plan, { a: dlogits, b: hg, c, form: "TN", M: K, N, K: rows, accumulate: true });
    }
  }

  private scatter(dhg: Tensor, { h: into, index }: LossGradients): Tensor {
    const { plan, inputs, width } = this;
    const [tokens = 0] = inputs.h.shape;
    const dh = into ?? plan.temp(inputs.h.shape, "loss_head.dh");
    const tensors = { dhg, dh, ...(index ?? recordIndex(plan, tokens, this.records)) };
    const rows = { kind: "computed", max: dimMax(tokens), value: (v: PlanValues) => dimValue(tokens, v) } as const;
    this.overRows(lossKernels.scatter, rows, tensors, { width, fresh: into === undefined ? 1 : 0 });
    return dh;
  }

  /** Where a chunk meets a window. */
  private at({ first }: Chunk, window: RowWindow): Record<string, ScalarArg> {
    return { first, width: window.rows, first_column: window.first, fresh: window.first === 0 ? 1 : 0 };
  }

  private overRows(
    k: Kernel,
    rows: Chunk["rows"],
    tensors: Record<string, Tensor>,
    scalars: Record<string, ScalarArg>,
  ): void {
    const grid = rowGrid(this.plan.device);
    this.plan.dispatch(k, {
      tensors,
      scalars: { ...this.scalars, rows: rows.value, ...scalars },
      constants: grid.constants,
      workgroups: (v) => grid.groups(rows.value(v)),
    });
  }
}

function missingUnits(kind: LossKind): ShapeError {
  return new ShapeError(
    "loss_head.units",
    ["R"],
    [],
    `Pass the sequences of the records: ${kind} couples their tokens.`,
  );
}
