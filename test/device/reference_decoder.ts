import type { DecoderDescription, NormDescription } from "../../src/model/decoder.ts";

/** Parameters by their packed name, in float64. */
export type ReferenceWeights = ReadonlyMap<string, Float64Array>;

/**
 * A decoder in float64, written as its formulas are and one sequence at a time: the oracle of the device's forward
 * pass. ids -> logits (T,V).
 */
export function referenceLogits(d: DecoderDescription, weights: ReferenceWeights, ids: readonly number[]): number[][] {
  const get = (name: string): Float64Array => weights.get(name) as Float64Array;
  const embed = get("embed");
  const row = (table: Float64Array, i: number): number[] => Array.from(table.subarray(i * d.width, (i + 1) * d.width));
  let x = ids.map((id, t) => {
    const token = row(embed, id).map((v) => v * d.embeddingScale);
    const learned = d.positions.kind === "learned" ? row(get("positions"), t) : [];
    return token.map((v, c) => v + (learned[c] ?? 0));
  });
  for (let layer = 0; layer < d.layers; layer++) {
    const at = `layers.${layer}`;
    const qkv = x.map((h) => project(d, weights, `${at}.qkv`, normed(d.norm, weights, `${at}.norm1`, h)));
    const attended = attend(d, weights, at, qkv);
    x = x.map((h, t) => add(h, project(d, weights, `${at}.out`, attended[t] as number[])));
    x = x.map((h) => {
      const up = project(d, weights, `${at}.up`, normed(d.norm, weights, `${at}.norm2`, h));
      return add(h, project(d, weights, `${at}.down`, activate(d, up)));
    });
  }
  const head = d.tiedHead ? embed : get("head");
  return x.map((h) => {
    const final = normed(d.norm, weights, "norm", h);
    return Array.from({ length: d.vocabSize }, (_, v) => dot(final, row(head, v)));
  });
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, v, i) => sum + v * (b[i] as number), 0);
}

function add(a: readonly number[], b: readonly number[]): number[] {
  return a.map((v, i) => v + (b[i] as number));
}

function project(d: DecoderDescription, weights: ReferenceWeights, name: string, x: readonly number[]): number[] {
  const w = weights.get(name) as Float64Array;
  const bias = weights.get(`${name}.bias`);
  const outputs = w.length / x.length;
  return Array.from({ length: outputs }, (_, o) => {
    const at = (i: number): number => w[d.weightLayout === "out_in" ? o * x.length + i : i * outputs + o] as number;
    return x.reduce((sum, v, i) => sum + v * at(i), bias?.[o] ?? 0);
  });
}

function normed(norm: NormDescription, weights: ReferenceWeights, name: string, x: readonly number[]): number[] {
  const w = weights.get(name) as Float64Array;
  const bias = weights.get(`${name}.bias`);
  const mean = norm.kind === "layer" ? x.reduce((a, b) => a + b, 0) / x.length : 0;
  const shift = norm.kind === "rms" ? norm.shift : 0;
  const variance = x.reduce((a, v) => a + (v - mean) ** 2, 0) / x.length;
  return x.map((v, i) => ((v - mean) / Math.sqrt(variance + norm.eps)) * ((w[i] as number) + shift) + (bias?.[i] ?? 0));
}

/** Head `h` of [q heads | k heads | v heads]: normed and rotated when it is a q or a k head. */
function headOf(
  d: DecoderDescription,
  weights: ReferenceWeights,
  at: string,
  qkv: number[],
  h: number,
  t: number,
): number[] {
  const raw = qkv.slice(h * d.headDim, (h + 1) * d.headDim);
  if (h >= d.heads + d.kvHeads) return raw;
  const name = `${at}.${h < d.heads ? "q_norm" : "k_norm"}`;
  const x = d.headNorm ? normed(d.norm, weights, name, raw) : raw;
  if (d.positions.kind !== "rotary") return x;
  const half = d.positions.rotaryDim / 2;
  const out = [...x];
  for (let i = 0; i < half; i++) {
    const angle = t * frequency(d, i);
    const [a, b] = [x[i] as number, x[i + half] as number];
    out[i] = a * Math.cos(angle) - b * Math.sin(angle);
    out[i + half] = b * Math.cos(angle) + a * Math.sin(angle);
  }
  return out;
}

function frequency(d: DecoderDescription, i: number): number {
  if (d.positions.kind !== "rotary") return 0;
  const { theta, rotaryDim, scaling } = d.positions;
  const plain = 1 / theta ** ((2 * i) / rotaryDim);
  if (scaling.kind === "default") return plain;
  if (scaling.kind === "linear") return plain / scaling.factor;
  const turns = (scaling.originalContextLength * plain) / (2 * Math.PI);
  const blend = (turns - scaling.lowFreqFactor) / (scaling.highFreqFactor - scaling.lowFreqFactor);
  const kept = Math.min(1, Math.max(0, blend));
  return kept * plain + ((1 - kept) * plain) / scaling.factor;
}

function attend(d: DecoderDescription, weights: ReferenceWeights, at: string, qkv: number[][]): number[][] {
  const head = (t: number, h: number): number[] => headOf(d, weights, at, qkv[t] as number[], h, t);
  return qkv.map((_, t) =>
    Array.from({ length: d.heads }, (_, h) => {
      const group = Math.floor(h / (d.heads / d.kvHeads));
      const q = head(t, h);
      const scores = Array.from({ length: t + 1 }, (_, j) => dot(q, head(j, d.heads + group)) * d.attentionScale);
      const top = Math.max(...scores);
      const shares = scores.map((s) => Math.exp(s - top));
      const total = shares.reduce((a, b) => a + b, 0);
      const out = new Array<number>(d.headDim).fill(0);
      for (const [j, share] of shares.entries()) {
        for (const [c, v] of head(j, d.heads + d.kvHeads + group).entries())
          out[c] = (out[c] as number) + (share / total) * v;
      }
      return out;
    }).flat(),
  );
}

function activate(d: DecoderDescription, up: readonly number[]): number[] {
  const { kind, gated } = d.activation;
  const f = (x: number): number => {
    if (kind === "silu") return x / (1 + Math.exp(-x));
    if (kind === "gelu_tanh") return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
    return 0.5 * x * (1 + erf(x / Math.SQRT2));
  };
  if (!gated) return up.map(f);
  return up.slice(0, d.ffn).map((gate, i) => f(gate) * (up[d.ffn + i] as number));
}

/** The error function by its series; exact to some 1e-15 for the small arguments of these tests. */
function erf(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; n < 80; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}
