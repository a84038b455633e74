import { LeydenError } from "../core/errors.ts";
import type { TrainRow } from "../schema/engine.ts";

/** What rows must fit. */
export interface RowLimits {
  vocabSize: number;
  /** Positions lie below it. */
  contextLength: number;
  /** Most tokens of one micro-batch. */
  microBatchTokens: number;
  /** The loss has a KL term: without reference log-probabilities it would pull towards probability 1. */
  needsRefLogprob?: boolean;
}

/** Rows packed one after another into one forward and backward pass; arrays are what the device takes. */
export interface MicroBatch {
  /** Indices of its rows in the step, and where each one's records begin in the arrays below. */
  readonly rows: readonly { readonly row: number; readonly firstRecord: number }[];
  /** (T) token ids, positions, and one past the last token that may see each token, counted over the batch. */
  readonly ids: Uint32Array;
  readonly pos: Uint32Array;
  readonly end: Uint32Array;
  /** (R) hidden row that predicts, token predicted, and the loss's numbers. */
  readonly src: Uint32Array;
  readonly target: Uint32Array;
  readonly weight: Float32Array;
  readonly advantage: Float32Array;
  readonly oldLogprob: Float32Array;
  readonly refLogprob: Float32Array;
}

/**
 * Packs rows in their given order, a new micro-batch where the next row does not fit: the tokens stand in one order
 * whatever `microBatchTokens` is, so that gradients, summed over them in that order, are the same to the last bit. Rows
 * without records are left out: they have no loss.
 * @throws LeydenError "train_row" for a malformed row; "train_row_too_long" when one exceeds `microBatchTokens`
 */
export function packRows(rows: readonly TrainRow[], limits: RowLimits): MicroBatch[] {
  const bins: { tokens: number; rows: number[] }[] = [];
  for (const [index, row] of rows.entries()) {
    checkRow(row, index, limits);
    if (row.src.length === 0) continue;
    const length = row.ids.length;
    const open = bins.at(-1);
    if (open === undefined || open.tokens + length > limits.microBatchTokens) {
      bins.push({ tokens: length, rows: [index] });
    } else {
      open.tokens += length;
      open.rows.push(index);
    }
  }
  return bins.map((bin) => packBin(rows, bin.rows));
}

function packBin(rows: readonly TrainRow[], indices: readonly number[]): MicroBatch {
  const total = (count: (row: TrainRow) => number): number =>
    indices.reduce((n, i) => n + count(rows[i] as TrainRow), 0);
  const tokens = total((r) => r.ids.length);
  const records = total((r) => r.src.length);
  const batch = {
    rows: [] as { row: number; firstRecord: number }[],
    ids: new Uint32Array(tokens),
    pos: new Uint32Array(tokens),
    end: new Uint32Array(tokens),
    src: new Uint32Array(records),
    target: new Uint32Array(records),
    weight: new Float32Array(records),
    advantage: new Float32Array(records),
    oldLogprob: new Float32Array(records),
    refLogprob: new Float32Array(records),
  };
  let token = 0;
  let record = 0;
  for (const index of indices) {
    const row = rows[index] as TrainRow;
    const length = row.ids.length;
    batch.rows.push({ row: index, firstRecord: record });
    batch.ids.set(row.ids, token);
    for (let t = 0; t < length; t++) {
      batch.pos[token + t] = row.pos?.[t] ?? t;
      batch.end[token + t] = token + (row.end?.[t] ?? length);
    }
    for (const [r, src] of row.src.entries()) batch.src[record + r] = token + src;
    batch.target.set(row.target, record);
    batch.weight.set(row.weight, record);
    batch.advantage.set(row.advantage, record);
    batch.oldLogprob.set(row.oldLogprob, record);
    if (row.refLogprob !== undefined) batch.refLogprob.set(row.refLogprob, record);
    token += length;
    record += row.src.length;
  }
  return batch;
}

function checkRow(row: TrainRow, index: number, limits: RowLimits): void {
  const tokens = row.ids.length;
  const records = row.src.length;
  if (tokens > limits.microBatchTokens) {
    throw new LeydenError(
      "train_row_too_long",
      `Row ${index} has ${tokens} tokens; a micro-batch holds ${limits.microBatchTokens}.`,
      {
        do: `Set train.microBatchTokens to at least ${tokens}: blocks are then recomputed as the memory asks, and if that is not enough the plan says what to give model.memoryBytes. Or train on shorter rows.`,
        data: { row: index, tokens, microBatchTokens: limits.microBatchTokens },
      },
    );
  }
  for (const name of ["pos", "end"] as const) requireLength(index, name, row[name]?.length, tokens);
  for (const name of ["target", "weight", "advantage", "oldLogprob", "refLogprob", "unit"] as const) {
    requireLength(index, name, row[name]?.length, records);
  }
  if (limits.needsRefLogprob === true && records > 0 && row.refLogprob === undefined) {
    throw badRow(index, "has no refLogprob, which the KL term takes");
  }
  requireRange(index, "ids", row.ids, () => [0, limits.vocabSize]);
  requireRange(index, "target", row.target, () => [0, limits.vocabSize]);
  requireRange(index, "src", row.src, () => [0, tokens]);
  requireRange(index, "pos", row.pos ?? [], () => [0, limits.contextLength]);
  requireRange(index, "end", row.end ?? [], (t) => [t + 1, tokens + 1]);
  if (row.pos === undefined && tokens > limits.contextLength) {
    throw badRow(index, `has ${tokens} tokens; this model's context is ${limits.contextLength}`);
  }
}

function requireLength(row: number, name: string, got: number | undefined, wanted: number): void {
  if (got !== undefined && got !== wanted) throw badRow(row, `has ${got} values in ${name}; ${wanted} belong there`);
}

function requireRange(
  row: number,
  name: string,
  values: ArrayLike<number>,
  range: (i: number) => readonly [number, number],
): void {
  for (let i = 0; i < values.length; i++) {
    const [low, high] = range(i);
    const value = values[i] as number;
    if (!(value >= low && value < high))
      throw badRow(row, `has ${name}[${i}] = ${value}; it must lie in ${low}..${high - 1}`);
  }
}

function badRow(row: number, what: string): LeydenError {
  return new LeydenError("train_row", `Training row ${row} ${what}.`, {
    do: "Correct the row; nothing was trained.",
    data: { row },
  });
}
