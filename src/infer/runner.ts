import { DeviceError, LeydenError } from "../core/errors.ts";
import type { Plan, PlanInputs, PlanOutputs } from "../gpu/plan.ts";
import type { Decoder } from "../model/policy.ts";
import { type KvFormat, pageTokens } from "../ops/kv_pages.ts";
import { pagedTileRows } from "../ops/paged_attention/select.ts";
import {
  createSampleState,
  decodeOutcome,
  encodeSampleParams,
  none,
  type SampleParams,
  type SequenceState,
  sampleStatus,
  writeSampleState,
} from "../ops/sample_state.ts";
import { type AdjustedStep, alternativesOf, deadEnd, prepareStep } from "./adjusted_step.ts";
import type { DecodeWork, PrefillPart } from "./batch_former.ts";
import { type InferenceContext, type InferenceSizes, recordDecodePlan, recordPrefillPlan } from "./inference_plan.ts";
import { KvCache } from "./kv_cache.ts";
import type { Sequence } from "./sequence.ts";
import type { Alternatives } from "./top_logprobs.ts";

/** Tokens drawn for one sequence by one device step, in order. */
export interface Drawn {
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
  /** True when its one token was drawn under a constraint's mask. */
  readonly constrained?: boolean;
  /** The likeliest tokens at its one token's place, when they were asked for. */
  readonly alternatives?: Alternatives | undefined;
  /** Set when there was no distribution to draw from (NaN or infinite logits), or the constraint failed. */
  readonly error?: LeydenError;
}

/** What a runner is built for. */
export interface RunnerOptions {
  readonly pageCount: number;
  readonly kvFormat: KvFormat;
  readonly contextLength: number;
  readonly maxSequences: number;
  readonly prefillTokens: number;
  readonly burst: number;
}

/** Stop ids per sequence the device checks; more are found after the burst. */
const deviceStops = 8;
/** Few rows take a plan whose kernels are chosen for few rows. */
const smallRows = { prefill: 64, decode: 8 };

/** Runs prompts and decode bursts of sequences on the device. */
export class InferenceRunner {
  private readonly context: InferenceContext;
  private readonly options: RunnerOptions;
  private readonly plans = new Map<string, Promise<Plan>>();

  /** `shared`: one whose cache and sampler it uses too, for another adapter beside the same weights. */
  constructor(model: Decoder, options: RunnerOptions, shared?: InferenceRunner) {
    const { description: d, device } = model;
    this.options = options;
    const sizes: InferenceSizes = {
      sequences: options.maxSequences,
      pages: Math.ceil(options.contextLength / pageTokens) + 1,
      stops: deviceStops,
      steps: options.burst,
    };
    if (shared !== undefined) {
      this.context = { ...shared.context, model };
      return;
    }
    const { pageCount, kvFormat: format } = options;
    const { layers, kvHeads, headDim } = d;
    const cache = new KvCache(device, { layers, pageCount, kvHeads, headDim, format });
    this.context = { model, cache, state: createSampleState(device, options.maxSequences), sizes };
  }

  /** Computes prompt parts and draws one token where a part ends its sequence; one entry per part. */
  async prefill(parts: readonly PrefillPart[]): Promise<Drawn[]> {
    const total = parts.reduce((n, p) => n + p.to - p.from, 0);
    const rows = total <= smallRows.prefill ? smallRows.prefill : this.options.prefillTokens;
    const drawing = parts.filter((p) => p.samples).map((p) => p.sequence);
    const step = await this.adjustedStep(drawing);
    const plan = await this.plan("prefill", rows, step !== null);
    this.writeState(parts.map((p) => p.sequence));
    const tiles = this.tiles(parts);
    const inputs = { ...this.samplerInputs(parts.map((p) => p.sequence)), ...prefillRows(parts, total), tiles };
    const sizes = { T: total, B: drawing.length, N: tiles.length / 2, step: 0 };
    const out = await plan.run({ ...sizes, ...step?.values }, { ...inputs, ...step?.inputs }, { read: readsOf(step) });
    return parts.map((p, s) => {
      if (!p.samples) return { ids: [], logprobs: [] };
      const drawn = this.outcomes(out.out as Uint32Array, s, 1);
      return step === null ? drawn : this.adjusted(drawn, p.sequence, step, out, drawing.indexOf(p.sequence));
    });
  }

  /** Draws up to `work.steps` tokens for each sequence with one readback; one entry per sequence. */
  async decode(work: DecodeWork): Promise<Drawn[]> {
    const count = work.sequences.length;
    const rows = this.decodeRows(count);
    const adjusted = await this.adjustedStep(work.sequences);
    const plan = await this.plan("decode", rows, adjusted !== null);
    this.writeState(work.sequences);
    const seq = Uint32Array.from({ length: count }, (_, s) => s);
    const inputs = { ...this.samplerInputs(work.sequences), seq };
    if (adjusted !== null) {
      const values = { B: count, step: 0, ...adjusted.values };
      const out = await plan.run(values, { ...inputs, ...adjusted.inputs }, { read: readsOf(adjusted) });
      const drawn = (s: number): Drawn => this.outcomes(out.out as Uint32Array, s, 1);
      return work.sequences.map((sequence, s) => this.adjusted(drawn(s), sequence, adjusted, out, s));
    }
    const steps = Array.from({ length: work.steps }, (_, step) => ({ B: count, step }));
    const out = await plan.runSeries(steps, inputs);
    return work.sequences.map((_, s) => this.outcomes(out.out as Uint32Array, s, work.steps));
  }

  /** Dispatches of one decode step of `count` sequences. */
  async decodeDispatches(count: number): Promise<number> {
    const plan = await this.plan("decode", this.decodeRows(count), false);
    return plan.dispatchesAt({ B: count, step: 0 });
  }

  /** Bytes of the plans that prompts and bursts without adjustments come to use, on a counting device. */
  measure(): number {
    const { prefillTokens, maxSequences } = this.options;
    const prefill = new Set([smallRows.prefill, prefillTokens]);
    const decode = new Set([smallRows.decode, Math.max(maxSequences, smallRows.decode)]);
    const plans = [
      ...[...prefill].map((rows) => recordPrefillPlan(this.context, rows, false)),
      ...[...decode].map((rows) => recordDecodePlan(this.context, rows, false)),
    ];
    return plans.reduce((bytes, plan) => bytes + plan.measure(), 0);
  }

  /** Releases plans, cache and state. */
  async dispose(): Promise<void> {
    for (const plan of this.plans.values()) (await plan.catch(() => null))?.dispose();
    this.context.cache.dispose();
    const { storage } = this.context.state.all;
    if (storage.kind === "buffer") this.context.model.device.pool.release(storage.buffer);
  }

  /** Rows of the plan that serves `count` sequences. */
  private decodeRows(count: number): number {
    return count <= smallRows.decode ? smallRows.decode : this.options.maxSequences;
  }

  private plan(kind: "prefill" | "decode", rows: number, adjusted: boolean): Promise<Plan> {
    const key = `${kind}.${rows}.${adjusted}`;
    let plan = this.plans.get(key);
    if (plan === undefined) {
      const record = kind === "prefill" ? recordPrefillPlan : recordDecodePlan;
      plan = record(this.context, rows, adjusted).build();
      this.plans.set(key, plan);
      plan.catch(() => this.plans.delete(key));
    }
    return plan;
  }

  /** Null when no sequence that draws needs the host. */
  private async adjustedStep(drawing: readonly Sequence[]): Promise<AdjustedStep | null> {
    if (!drawing.some((s) => s.isStepwise)) return null;
    return prepareStep(drawing, this.context.model.description.vocabSize);
  }

  /** What was drawn for a stepwise sequence, from its row of logits. */
  private adjusted(drawn: Drawn, sequence: Sequence, step: AdjustedStep, out: PlanOutputs, row: number): Drawn {
    const constrained = step.masked.has(sequence);
    const failure = step.failed.get(sequence);
    if (failure !== undefined) return { ids: [], logprobs: [], error: failure };
    if (drawn.error !== undefined) return constrained ? { ...drawn, error: deadEnd(sequence) } : drawn;
    const { vocabSize } = this.context.model.description;
    const logits = (out.logits as Float32Array | undefined)?.subarray(row * vocabSize, (row + 1) * vocabSize);
    const [id, logprob] = [drawn.ids[0], drawn.logprobs[0]];
    if (logits === undefined || id === undefined || logprob === undefined) return { ...drawn, constrained };
    return { ...drawn, constrained, alternatives: alternativesOf(sequence, logits, id, logprob) };
  }

  /** First row and number of rows of each run of rows that attend together. */
  private tiles(parts: readonly PrefillPart[]): Uint32Array {
    const { device, description } = this.context.model;
    const most = pagedTileRows(device.caps, description);
    const tiles: number[] = [];
    let first = 0;
    for (const { from, to } of parts) {
      for (let at = from; at < to; at += most) tiles.push(first + at - from, Math.min(most, to - at));
      first += to - from;
    }
    return Uint32Array.from(tiles);
  }

  private writeState(sequences: readonly Sequence[]): void {
    writeSampleState(this.context.model.device, this.context.state, sequences.map(sequenceState));
  }

  private samplerInputs(sequences: readonly Sequence[]): PlanInputs {
    const { pages, stops, steps, sequences: capacity } = this.context.sizes;
    const table = new Uint32Array(sequences.length * pages).fill(none);
    const stopIds = new Uint32Array(sequences.length * stops).fill(none);
    const forced = new Uint32Array(steps * capacity).fill(none);
    for (const [s, sequence] of sequences.entries()) {
      table.set(sequence.pages.slice(0, pages), s * pages);
      stopIds.set(sequence.request.stopIds.slice(0, stops), s * stops);
      for (let t = 0; t < steps; t++) {
        forced[t * capacity + s] = sequence.request.forcedIds?.[sequence.sampled + t] ?? none;
      }
    }
    return { params: encodeSampleParams(sequences.map(sampleParams)), stops: stopIds, pages: table, forced };
  }

  private outcomes(words: Uint32Array, s: number, steps: number): Drawn {
    const ids: number[] = [];
    const logprobs: number[] = [];
    for (let step = 0; step < steps; step++) {
      const o = decodeOutcome(words, this.context.sizes.sequences, step, s);
      if (o.status === sampleStatus.invalid) return { ids, logprobs, error: noDistribution() };
      if (o.status === sampleStatus.noPage && o.id === none) throw pagesMissing();
      if (o.id === none) break;
      ids.push(o.id);
      logprobs.push(o.logprob);
      if (o.status === sampleStatus.stopped || o.status === sampleStatus.length) break;
    }
    return { ids, logprobs };
  }
}

/** What a step reads back. */
function readsOf(step: AdjustedStep | null): readonly string[] {
  return step?.readsLogits === true ? ["out", "logits"] : ["out"];
}

function sampleParams({ request }: Sequence): SampleParams {
  return { ...request.sampling, key: request.key, counter: 0 };
}

function sequenceState(sequence: Sequence): SequenceState {
  const position = sequence.length - 1;
  return {
    id: sequence.tokens[position] as number,
    position,
    slot: slotOf(sequence, position),
    drawn: sequence.sampled,
    remaining: sequence.remaining,
    status: sampleStatus.running,
  };
}

function slotOf(sequence: Sequence, position: number): number {
  const page = sequence.pages[Math.floor(position / pageTokens)];
  return page === undefined ? none : page * pageTokens + (position % pageTokens);
}

function prefillRows(parts: readonly PrefillPart[], total: number): PlanInputs {
  const ids = new Uint32Array(total);
  const pos = new Uint32Array(total);
  const seq = new Uint32Array(total);
  const slots = new Uint32Array(total);
  const last: number[] = [];
  const sampleSeq: number[] = [];
  let at = 0;
  for (const [s, { sequence, from, to, samples }] of parts.entries()) {
    for (let p = from; p < to; p++, at++) {
      ids[at] = sequence.tokens[p] as number;
      pos[at] = p;
      seq[at] = s;
      slots[at] = slotOf(sequence, p);
    }
    if (!samples) continue;
    last.push(at - 1);
    sampleSeq.push(s);
  }
  return { ids, pos, seq, slots, last: Uint32Array.from(last), sampleSeq: Uint32Array.from(sampleSeq) };
}

function noDistribution(): LeydenError {
  return new LeydenError("invalid_logits", "The model's logits are no distribution: they hold NaN or infinity.", {
    do: "The weights are damaged: go back to an earlier checkpoint, and lower train.learningRate.",
  });
}

function pagesMissing(): DeviceError {
  return new DeviceError("device_validation", "A decode step ran out of pages that were reserved for it.", {
    do: "This is a fault in Leyden: report it with the requests that showed it.",
  });
}
