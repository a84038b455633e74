import { alignUp } from "../core/shape.ts";
import type { Device } from "../gpu/device.ts";
import type { PoolBuffer } from "../gpu/pool.ts";
import { bufferTensor, type Tensor } from "../gpu/tensor.ts";
import { tensorUsage } from "../gpu/usage.ts";

/** "None" in every u32 table: no forced id, no stop id, no page, no slot. */
export const none = 0xffffffff;

/** How the sampler draws for one sequence during a burst. */
export interface SampleParams {
  /** Divides the logits; 0 takes the likeliest id. */
  temperature: number;
  /** 0 keeps all. */
  topK: number;
  /** 1 keeps all. */
  topP: number;
  /** 0 keeps all. */
  minP: number;
  key: readonly [number, number];
  /** Counter of the sequence's draw number 0 of its state; draw n uses counter + n. */
  counter: number;
  /** Id to return instead of drawing. */
  forced?: number;
}

/** u32 words of one row of params. */
const paramWords = 8;

/** Params (S,8) as the sampler reads them: temperature, topK, topP, minP, key, counter, forced. */
export function encodeSampleParams(rows: readonly SampleParams[]): Uint32Array {
  const out = new Uint32Array(rows.length * paramWords);
  const floats = new Float32Array(out.buffer);
  for (const [i, r] of rows.entries()) {
    const at = i * paramWords;
    floats[at] = r.temperature;
    out[at + 1] = r.topK;
    floats[at + 2] = r.topP;
    floats[at + 3] = r.minP;
    out.set([r.key[0], r.key[1], r.counter, r.forced ?? none], at + 4);
  }
  return out;
}

/**
 * What a sequence is doing: running, ended by a stop id, ended by its allowance of tokens, no sequence, logits that are
 * no distribution (NaN, +inf, all -inf), or waiting for the host to give it the page of its next position.
 */
export const sampleStatus = { running: 0, stopped: 1, length: 2, idle: 3, invalid: 4, noPage: 5 } as const;

/** State of one sequence between steps. */
export interface SequenceState {
  /** Id to feed at the next step, and its position. */
  id: number;
  position: number;
  /** Where its key and value go: page * page size + offset, or `none`. */
  slot: number;
  /** Tokens drawn so far: what `counter` is advanced by. */
  drawn: number;
  /** Tokens still allowed. */
  remaining: number;
  status: number;
}

const fields = ["id", "position", "slot", "drawn", "remaining", "status"] as const;

const idle: SequenceState = { id: 0, position: 0, slot: none, drawn: 0, remaining: 0, status: sampleStatus.idle };

/**
 * State of up to S sequences on the device: one array per field, each a tensor (S) that other kernels bind (ids feed the
 * embedding, positions RoPE and attention, slots kv_write), all in one buffer that `sample` advances.
 */
export interface SampleState {
  readonly sequences: number;
  /** u32 entries from one field's array to the next. */
  readonly stride: number;
  /** (6,stride) u32, the whole state. */
  readonly all: Tensor;
  readonly id: Tensor;
  readonly position: Tensor;
  readonly slot: Tensor;
  readonly drawn: Tensor;
  readonly remaining: Tensor;
  readonly status: Tensor;
}

/** Allocates the state of `sequences` sequences, all idle once written. The caller releases `all`'s buffer. */
export function createSampleState(device: Device, sequences: number): SampleState {
  const stride = alignUp(sequences, device.caps.limits.offsetAlignment / 4);
  const buffer = device.pool.allocate("sample.state", fields.length * stride * 4, tensorUsage);
  const view = (field: (typeof fields)[number]): Tensor =>
    bufferTensor(buffer, [sequences], "u32", fields.indexOf(field) * stride * 4, `sample.${field}`);
  const state: SampleState = {
    sequences,
    stride,
    all: bufferTensor(buffer, [fields.length, stride], "u32"),
    id: view("id"),
    position: view("position"),
    slot: view("slot"),
    drawn: view("drawn"),
    remaining: view("remaining"),
    status: view("status"),
  };
  writeSampleState(device, state, []);
  return state;
}

/** Writes the state of every sequence, in the queue's order; sequences past `rows` become idle. */
export function writeSampleState(device: Device, state: SampleState, rows: readonly SequenceState[]): void {
  const data = new Uint32Array(fields.length * state.stride);
  for (let s = 0; s < state.sequences; s++) {
    const row = rows[s] ?? idle;
    for (const [f, field] of fields.entries()) data[f * state.stride + s] = row[field];
  }
  device.gpu.queue.writeBuffer(bufferOf(state.all).gpu, 0, data);
}

/** The sequences' state from the words of `state.all`. */
export function decodeSampleState(state: SampleState, words: Uint32Array): SequenceState[] {
  return Array.from({ length: state.sequences }, (_, s) => {
    const row = { ...idle };
    for (const [f, field] of fields.entries()) row[field] = words[f * state.stride + s] as number;
    return row;
  });
}

/** One step's outcome for one sequence. */
export interface SampleOutcome {
  /** The id, or `none` when the sequence was not running or its logits are no distribution. */
  id: number;
  /** Natural log of the probability of the id under the distribution it was drawn from. */
  logprob: number;
  /** True when truncation took weight away. */
  truncated: boolean;
  /** The sequence's status after the step. */
  status: number;
}

/** Step `step`'s outcome of sequence `s` from the words of `out` (steps,S,4). */
export function decodeOutcome(words: Uint32Array, sequences: number, step: number, s: number): SampleOutcome {
  const at = (step * sequences + s) * 4;
  const logprob = new Float32Array(words.slice(at + 1, at + 2).buffer)[0] as number;
  return { id: words[at] as number, logprob, truncated: words[at + 2] === 1, status: words[at + 3] as number };
}

function bufferOf(tensor: Tensor): PoolBuffer {
  return (tensor.storage as { readonly buffer: PoolBuffer }).buffer;
}
