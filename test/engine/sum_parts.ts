import { DeviceError } from "../../src/core/errors.ts";
import type { EngineParts, GradientOptions, Gradients, ModelState } from "../../src/engine/engine_parts.ts";
import type { Drawn } from "../../src/infer/runner.ts";
import type { Sequence } from "../../src/infer/sequence.ts";
import type { AccumulateRequest, UpdateRequest, UpdateResult } from "../../src/schema/engine.ts";
import type { VirtualClock } from "./virtual_clock.ts";

/** Tokens are counted modulo this. */
export const modulus = 50;
const vocabulary = { contextLength: 400, vocabSize: modulus };

/** What the device is shared by: it outlives the parts that are lost with it. */
export interface DeviceState {
  readonly clock: VirtualClock;
  readonly losses: Set<number>;
  operations: number;
  inPass: boolean;
  stepsInPass: number;
  mostStepsInPass: number;
  /** Asserts what must hold when an optimizer step is taken. */
  onStep: () => Promise<void>;
}

/** Draws (sum of all tokens + weight) modulo 50; its gradient depends on the order of rows. */
export class SumParts implements EngineParts {
  readonly info: EngineParts["info"] = {
    adapter: "sum",
    deviceClass: "software",
    family: "sum",
    parameters: 1,
    microBatchTokens: 1000,
    ...vocabulary,
  };
  readonly pageCount = 24;
  private readonly device: DeviceState;
  private weight: number;
  private gradient = 0;
  private lost = false;

  constructor(device: DeviceState, weight: number) {
    this.device = device;
    this.weight = weight;
  }

  decodeText = (): string => "";

  private operation(ms: number): void {
    this.device.clock.spend(ms);
    if (this.device.losses.delete(++this.device.operations)) this.lost = true;
    if (this.lost) throw new DeviceError("device_lost", "The GPU device was lost: test.");
  }

  private inference(ms: number): void {
    if (this.device.inPass) {
      const steps = ++this.device.stepsInPass;
      this.device.mostStepsInPass = Math.max(this.device.mostStepsInPass, steps);
    }
    this.operation(ms);
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
    this.inference(2);
    return parts.map((p) => (p.samples ? this.draw(p.sequence, 1) : { ids: [], logprobs: [] }));
  }

  async decode(work: Parameters<EngineParts["decode"]>[0]): Promise<Drawn[]> {
    this.inference(work.steps);
    return work.sequences.map((s) => this.draw(s, work.steps));
  }

  async score(): Promise<never> {
    throw new DeviceError("device_validation", "Not asked for here.");
  }

  scoreRows: EngineParts["scoreRows"] = this.score;
  updateCritic: EngineParts["updateCritic"] = this.score;

  clearGradients(): void {
    this.gradient = 0;
  }

  async accumulate({ rows }: Pick<AccumulateRequest, "rows">, o: GradientOptions): Promise<Gradients> {
    this.device.inPass = true;
    for (const row of rows) {
      this.device.stepsInPass = 0;
      this.operation(3);
      this.gradient = (this.gradient * 31 + (row.ids[0] as number)) % 9973;
      await o.between?.();
    }
    this.device.inPass = false;
    if (o.fault !== null) this.gradient = Number.NaN;
    return { ...noStatistics, logprobs: new Float32Array(0) };
  }

  async step(_: UpdateRequest): Promise<Omit<UpdateResult, "version" | "drainMs">> {
    await this.device.onStep();
    this.operation(1);
    const bad = Number.isNaN(this.gradient);
    if (!bad) this.weight = (this.weight * 7 + this.gradient + 1) % 9973;
    this.gradient = 0;
    return { ...noStatistics, skipped: bad ? "nan_gradient" : null, gradNorm: 0, logprobs: new Float32Array(0) };
  }

  async snapshot(): Promise<ModelState> {
    this.operation(0);
    return { files: { weight: Uint8Array.from([this.weight >> 8, this.weight & 255]) }, ...hash(this.weight) };
  }

  loseDevice(): void {
    this.lost = true;
  }

  dispose(): void {
    this.device.inPass = false;
  }
}

const noStatistics = {
  loss: 0,
  entropy: 0,
  clipFrac: 0,
  dualClipFrac: 0,
  approxKl: 0,
  logprobDiffMax: 0,
  tokens: 0,
  computedTokens: 0,
  trainMs: 0,
};

function hash(weight: number): Pick<ModelState, "weightsSha256" | "optimizerSteps"> {
  return { weightsSha256: String(weight), optimizerSteps: 0 };
}
