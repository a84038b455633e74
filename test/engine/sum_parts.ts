import { DeviceError } from "../../src/core/errors.ts";
import type { EngineParts, GradientOptions, Gradients, ModelState } from "../../src/engine/engine_parts.ts";
import type { Drawn } from "../../src/infer/runner.ts";
import type { Sequence } from "../../src/infer/sequence.ts";
import type {
  AccumulateRequest,
  ScoreRequest,
  ScoreResult,
  TrainRow,
  UpdateRequest,
  UpdateResult,
} from "../../src/schema/engine.ts";
import type {
  CriticResult,
  CriticUpdateRequest,
  ScoreRowsRequest,
  ScoreRowsResult,
} from "../../src/schema/row_scores.ts";
import type { VirtualClock } from "./virtual_clock.ts";
import type { ActionKind, Waits } from "./waits.ts";

/** Tokens are counted modulo this. */
export const modulus = 50;
const vocabulary = { contextLength: 400, vocabSize: modulus };

/** Numbers that weights are counted modulo. */
export const weightModulus = 9973;

/** What the device is shared by: it outlives the parts that are lost with it. */
export interface DeviceState {
  readonly clock: VirtualClock;
  readonly losses: Set<number>;
  readonly waits: Waits;
  /** Steps of the critic that were taken: again, on a fresh device, they are no action of the schedule. */
  readonly criticSteps: Set<string>;
  operations: number;
  /** Asserts what must hold when an optimizer step is taken. */
  onStep: () => Promise<void>;
}

/**
 * Draws (sum of all tokens + weight) modulo 50. What it learns depends on the order of rows, and so does what its critic
 * learns; scores say which weights gave them.
 */
export class SumParts implements EngineParts {
  readonly info: EngineParts["info"] = {
    adapter: "sum",
    deviceClass: "software",
    family: "sum",
    parameters: 2,
    microBatchTokens: 1000,
    ...vocabulary,
  };
  readonly pageCount = 24;
  private readonly device: DeviceState;
  private weight: number;
  private critic: number;
  private gradient = 0;
  private lost = false;

  constructor(device: DeviceState, state: ModelState | null = null) {
    this.device = device;
    this.weight = numberOf(state?.files.weight);
    this.critic = numberOf(state?.files["critic/weight"]);
  }

  decodeText = (): string => "";

  /** Spends time on some calls or questions, or is lost over them. */
  private operation(kind: ActionKind | "readback", ms: number, served: readonly string[] = []): void {
    this.device.clock.spend(ms);
    if (this.device.losses.delete(++this.device.operations)) this.lost = true;
    if (this.lost) {
      this.device.waits.acted("lost", []);
      throw new DeviceError("device_lost", "The GPU device was lost: test.");
    }
    if (kind !== "readback") this.device.waits.acted(kind, served);
  }

  private draw(sequence: Sequence, steps: number): Drawn {
    let sum = this.weight;
    for (let i = 0; i < sequence.length; i++) sum += sequence.tokens[i] as number;
    const ids: number[] = [];
    for (let i = 0; i < steps; i++) {
      ids.push(sum % modulus);
      sum += sum % modulus;
    }
    return { ids, logprobs: ids.map((id) => -id) };
  }

  async prefill(parts: Parameters<EngineParts["prefill"]>[0]): Promise<Drawn[]> {
    const served = parts.map((p) => p.sequence.request.id);
    this.operation("prefill", 2, served);
    return parts.map((p) => (p.samples ? this.draw(p.sequence, 1) : { ids: [], logprobs: [] }));
  }

  async decode(work: Parameters<EngineParts["decode"]>[0]): Promise<Drawn[]> {
    const served = work.sequences.map((s) => s.request.id);
    this.operation("decode", work.steps, served);
    return work.sequences.map((s) => this.draw(s, work.steps));
  }

  async score({ id, ids }: ScoreRequest): Promise<ScoreResult> {
    this.operation("score", 2, [id]);
    return { logprobs: this.said(ids), entropies: new Float32Array(ids.length) };
  }

  async scoreRows({ id, rows, policy, values }: ScoreRowsRequest): Promise<ScoreRowsResult> {
    this.operation("score", 3, [id]);
    const firsts = rows.map((row) => row.ids[0] as number);
    return {
      logprobs: policy ? this.said(firsts) : null,
      entropies: policy ? new Float32Array(rows.length) : null,
      refLogprobs: null,
      values: values ? Float32Array.from(firsts, (first) => this.critic + first) : null,
      ms: { policy: null, reference: null, values: null },
    };
  }

  /** -(weight + token): says which weights answered. */
  private said(ids: ArrayLike<number>): Float32Array {
    return Float32Array.from(ids, (id) => -(this.weight + id));
  }

  async updateCritic({ id, rows }: CriticUpdateRequest): Promise<CriticResult> {
    this.operation(this.device.criticSteps.has(id) ? "readback" : "score", 4, [id]);
    this.device.criticSteps.add(id);
    this.critic = stepped(this.critic, learnt(rows));
    return { skipped: null, loss: 0, gradNorm: 0, clipFrac: 0, trainMs: 0 };
  }

  clearGradients(): void {
    this.gradient = 0;
  }

  /** A pass has one quantum per row, and one where there is none. */
  async accumulate({ rows }: Pick<AccumulateRequest, "rows">, o: GradientOptions): Promise<Gradients> {
    if (rows.length === 0) this.operation("train", 0);
    for (const [i, row] of rows.entries()) {
      if (i > 0) await o.between?.();
      this.operation(o.between === undefined ? "readback" : "train", 3);
      this.gradient = learnt([row], this.gradient);
    }
    if (o.fault !== null) this.gradient = Number.NaN;
    return { ...noStatistics, logprobs: new Float32Array(0) };
  }

  async step(_: UpdateRequest): Promise<Omit<UpdateResult, "version" | "drainMs">> {
    await this.device.onStep();
    this.operation("update", 1);
    const bad = Number.isNaN(this.gradient);
    if (!bad) this.weight = stepped(this.weight, this.gradient);
    this.gradient = 0;
    return { ...noStatistics, skipped: bad ? "nan_gradient" : null, gradNorm: 0, logprobs: new Float32Array(0) };
  }

  async snapshot(): Promise<ModelState> {
    this.operation("readback", 0);
    const files = { weight: bytesOf(this.weight), "critic/weight": bytesOf(this.critic) };
    return { files, weightsSha256: String(this.weight), optimizerSteps: 0 };
  }

  loseDevice(): void {
    this.lost = true;
  }

  dispose(): void {}
}

/** The gradient of rows, after that of others. */
export function learnt(rows: readonly TrainRow[], before = 0): number {
  return rows.reduce((gradient, row) => (gradient * 31 + (row.ids[0] as number)) % weightModulus, before);
}

/** What an optimizer step makes of a weight. */
export function stepped(weight: number, gradient: number): number {
  return (weight * 7 + gradient + 1) % weightModulus;
}

/** A weight as it is saved. */
export function bytesOf(weight: number): Uint8Array {
  return Uint8Array.of(weight >> 8, weight & 255);
}

/** The weight that was saved; 0 where none was. */
export function numberOf(bytes: Uint8Array | undefined): number {
  return bytes === undefined ? 0 : (bytes[0] as number) * 256 + (bytes[1] as number);
}

const noStatistics = {
  loss: 0,
  pgLoss: 0,
  entropy: 0,
  clipFrac: 0,
  dualClipFrac: 0,
  approxKl: 0,
  logprobDiffMax: 0,
  tokens: 0,
  computedTokens: 0,
  trainMs: 0,
};
