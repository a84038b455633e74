import { PlanBuilder } from "../gpu/plan_builder.ts";
import type { Dim, Tensor } from "../gpu/tensor.ts";
import { recordAttentionInput, recordAttentionOutput, recordMlp } from "../model/layer.ts";
import { recordNorm } from "../model/norm.ts";
import type { Decoder } from "../model/policy.ts";
import { adjustLogits, maskWords } from "../ops/adjust_logits.ts";
import { embedding } from "../ops/embedding.ts";
import { type KvPages, kvWrite, pageTokens } from "../ops/kv_pages.ts";
import { linear } from "../ops/linear.ts";
import { pagedAttention } from "../ops/paged_attention.ts";
import { sample } from "../ops/sample.ts";
import type { SampleState } from "../ops/sample_state.ts";
import type { KvCache } from "./kv_cache.ts";
import { stepwiseRows } from "./stepwise.ts";

/** Sizes a plan is built for. */
export interface InferenceSizes {
  /** Sequences of one step. */
  readonly sequences: number;
  /** Pages a sequence may have. */
  readonly pages: number;
  /** Stop ids a sequence may have. */
  readonly stops: number;
  /** Steps of one burst. */
  readonly steps: number;
}

/** What inference plans share: the model, its cache, and the sampler's state. */
export interface InferenceContext {
  readonly model: Decoder;
  readonly cache: KvCache;
  readonly state: SampleState;
  readonly sizes: InferenceSizes;
}

/** The rows of a step. */
interface Rows {
  /** (T) u32 each: token id, position, row of `pages`, cache slot. */
  readonly ids: Tensor;
  readonly pos: Tensor;
  readonly seq: Tensor;
  readonly slots: Tensor;
  /** (S,P) u32 */
  readonly pages: Tensor;
  /** (N,2) u32: runs of rows that attend together. */
  readonly tiles?: Tensor;
}

/** Residual stream (T,C) after the last block, keys and values of the rows written to their slots on the way. */
function recordBlocks(plan: PlanBuilder, { model, cache }: InferenceContext, rows: Rows): Tensor {
  const { description: d, weights } = model;
  const embedded = embedding.forward(
    plan,
    { ids: rows.ids, w: weights.embed, pos: weights.positions && rows.pos, wpe: weights.positions },
    { scale: d.embeddingScale },
  );
  const heads = { heads: d.heads, kvHeads: d.kvHeads, headDim: d.headDim };
  let x = embedded.out.y;
  for (const [i, layer] of weights.layers.entries()) {
    const { qkv } = recordAttentionInput(plan, model, layer, x, rows.pos);
    const kv = cache.layers[i] as KvPages;
    kvWrite(plan, heads, qkv, rows.slots, kv);
    const o = pagedAttention(
      plan,
      { qkv, kv, pages: rows.pages, seq: rows.seq, pos: rows.pos, ...(rows.tiles && { tiles: rows.tiles }) },
      { ...heads, scale: d.attentionScale },
    );
    x = recordMlp(plan, model, layer, recordAttentionOutput(plan, model, layer, o, x).x).x;
  }
  return x;
}

/** Inputs of the sampler that both kinds of plan have. */
function samplerInputs(
  plan: PlanBuilder,
  { sequences, pages, stops, steps }: InferenceSizes,
): { params: Tensor; stops: Tensor; pages: Tensor; forced: Tensor; out: Tensor } {
  return {
    params: plan.input("params", [sequences, 8], "u32"),
    stops: plan.input("stops", [sequences, stops], "u32"),
    pages: plan.input("pages", [sequences, pages], "u32"),
    forced: plan.input("forced", [steps, sequences], "u32"),
    out: plan.lasting("out", [steps, sequences, 4], "u32"),
  };
}

function recordSample(
  plan: PlanBuilder,
  { model, state, sizes }: InferenceContext,
  x: Tensor,
  seq: Tensor,
  inputs: ReturnType<typeof samplerInputs>,
  adjusted: boolean,
): void {
  const { description: d, weights } = model;
  const { y } = recordNorm(plan, d.norm, weights.norm, x);
  const logits = linear.forward(plan, { x: y, w: weights.head }, { layout: "out_in" }).out.y;
  if (adjusted) recordAdjustments(plan, sizes, logits);
  sample(plan, { logits, seq, state, ...inputs }, plan.scalar("step"));
  plan.output("out", inputs.out);
}

/** Most logit biases of one request. */
export const mostLogitBiases = 1024;

/** The host's changes to the logits, which can then be read back as the tokens were drawn from them. */
function recordAdjustments(plan: PlanBuilder, { pages }: InferenceSizes, logits: Tensor): void {
  const vocab = logits.shape[1] as number;
  const M: Dim = plan.dim("M", stepwiseRows);
  const E: Dim = plan.dim("E", stepwiseRows * Math.min(vocab, pages * pageTokens + mostLogitBiases));
  adjustLogits(plan, {
    logits,
    edits: plan.input("edits", [E, 4], "u32"),
    maskedRows: plan.input("maskedRows", [M], "u32"),
    masks: plan.input("masks", [M, maskWords(vocab)], "u32"),
  });
  plan.output("logits", logits);
}

/**
 * A plan that computes up to `maxRows` prompt tokens and samples for the rows in `last` (B); `adjusted` for stepwise
 * sequences.
 */
export function recordPrefillPlan(context: InferenceContext, maxRows: number, adjusted: boolean): PlanBuilder {
  const plan = new PlanBuilder(context.model.device, `prefill.${maxRows}`);
  const T: Dim = plan.dim("T", maxRows);
  const B: Dim = plan.dim("B", context.sizes.sequences);
  const sampler = samplerInputs(plan, context.sizes);
  const rows: Rows = {
    ids: plan.input("ids", [T], "u32"),
    pos: plan.input("pos", [T], "u32"),
    seq: plan.input("seq", [T], "u32"),
    slots: plan.input("slots", [T], "u32"),
    pages: sampler.pages,
    tiles: plan.input("tiles", [plan.dim("N", maxRows), 2], "u32"),
  };
  const last = plan.input("last", [B], "u32");
  const x = recordBlocks(plan, context, rows);
  const gathered = embedding.forward(plan, { ids: last, w: x }).out.y;
  recordSample(plan, context, gathered, plan.input("sampleSeq", [B], "u32"), sampler, adjusted);
  return plan;
}

/** A plan that feeds each of up to `maxRows` sequences its newest id from the sampler's state and draws the next. */
export function recordDecodePlan(context: InferenceContext, maxRows: number, adjusted: boolean): PlanBuilder {
  const plan = new PlanBuilder(context.model.device, `decode.${maxRows}`);
  const B: Dim = plan.dim("B", maxRows);
  const sampler = samplerInputs(plan, context.sizes);
  const seq = plan.input("seq", [B], "u32");
  const view = (t: Tensor): Tensor => ({ ...t, shape: [B] });
  const { id, position, slot } = context.state;
  const rows: Rows = { ids: view(id), pos: view(position), seq, slots: view(slot), pages: sampler.pages };
  const x = recordBlocks(plan, context, rows);
  recordSample(plan, context, x, seq, sampler, adjusted);
  return plan;
}
