import type { Clock } from "../../src/core/clock.ts";
import { DeviceError, LeydenError } from "../../src/core/errors.ts";
import type { EngineParts, GradientOptions, Gradients, ModelState } from "../../src/engine/engine_parts.ts";
import type { EngineFault } from "../../src/engine/faults.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import type { Drawn } from "../../src/infer/runner.ts";
import type { Sequence } from "../../src/infer/sequence.ts";
import type { DevicePolicy } from "../../src/schedule/device_schedule.ts";
import type {
  AccumulateRequest,
  GenerateRequest,
  TrainRow,
  UpdateRequest,
  UpdateResult,
} from "../../src/schema/engine.ts";

const clock: Clock = { now: () => 0, monotonic: () => 0, sleep: async () => {} };

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

/** A model whose next token is the sum of all tokens plus its weight, modulo 50: any mix-up of tokens shows. */
class CountingParts implements EngineParts {
  readonly info = {
    adapter: "counting",
    deviceClass: "software" as const,
    family: "counting",
    parameters: 1,
    vocabSize: 50,
    contextLength: 200,
    microBatchTokens: 1000,
  };
  readonly pageCount = 12;
  readonly log: string[];
  weight: number;
  private gradient = 0;
  private lost = false;
  /** Number of the snapshot at which the device is lost; 0: never. */
  loseAtSnapshot = 0;

  constructor(log: string[], weight: number) {
    this.log = log;
    this.weight = weight;
  }

  decodeText = (ids: Int32Array): string => Array.from(ids, (id) => `<${id}>`).join("");

  private next(tokens: number[]): number {
    return (tokens.reduce((a, b) => a + b, 0) + this.weight) % 50;
  }

  private async draw(sequence: Sequence, steps: number): Promise<Drawn> {
    await Promise.resolve();
    if (this.lost) throw new DeviceError("device_lost", "The GPU device was lost: test.");
    const tokens = Array.from(sequence.tokens.subarray(0, sequence.length));
    const ids: number[] = [];
    for (let i = 0; i < steps; i++) {
      ids.push(this.next(tokens));
      tokens.push(ids.at(-1) as number);
    }
    return { ids, logprobs: ids.map((id) => -id) };
  }

  async prefill(parts: Parameters<EngineParts["prefill"]>[0]): Promise<Drawn[]> {
    this.log.push(`prefill ${parts.map((p) => `${p.from}-${p.to}`).join(" ")}`);
    return Promise.all(
      parts.map((p) => (p.samples ? this.draw(p.sequence, 1) : Promise.resolve({ ids: [], logprobs: [] }))),
    );
  }

  async decode(work: Parameters<EngineParts["decode"]>[0]): Promise<Drawn[]> {
    this.log.push(`decode ${work.sequences.length}x${work.steps}`);
    return Promise.all(work.sequences.map((s) => this.draw(s, work.steps)));
  }

  async score(): Promise<{ logprobs: Float32Array; entropies: Float32Array }> {
    return { logprobs: new Float32Array([0, -1]), entropies: new Float32Array([0, 2]) };
  }

  scoreRows(): never {
    throw new LeydenError("no_reference", "The counting model answers no rows.");
  }

  updateCritic(): never {
    throw new LeydenError("no_critic", "The counting model has no critic.");
  }

  clearGradients(): void {
    this.gradient = 0;
  }

  /** A row's "gradient" is its first id; a pass has one quantum per row. */
  async accumulate({ rows }: Pick<AccumulateRequest, "rows">, { between, fault }: GradientOptions): Promise<Gradients> {
    for (const [i, row] of rows.entries()) {
      if (i > 0) await between?.();
      await Promise.resolve();
      if (this.lost) throw new DeviceError("device_lost", "The GPU device was lost: test.");
      if (row.ids.length === 0) throw new LeydenError("train_row", "Training row is empty.");
      this.log.push(`train ${row.ids[0]}`);
      this.gradient += row.ids[0] as number;
    }
    if (fault !== null) this.gradient = Number.NaN;
    return { ...noStatistics, logprobs: Float32Array.from(rows, (row) => -(row.ids[0] as number)) };
  }

  async step({
    id,
    accumulated,
    gradientScale = 1,
  }: UpdateRequest): Promise<Omit<UpdateResult, "version" | "drainMs">> {
    await Promise.resolve();
    if (this.lost) throw new DeviceError("device_lost", "The GPU device was lost: test.");
    this.log.push(`update ${id}`);
    if (accumulated !== true) this.gradient = 0;
    const bad = Number.isNaN(this.gradient);
    if (!bad) this.weight += 1 + this.gradient * gradientScale;
    this.gradient = 0;
    return { ...noStatistics, skipped: bad ? "nan_gradient" : null, gradNorm: 0, logprobs: new Float32Array(0) };
  }

  async snapshot(): Promise<ModelState> {
    if (--this.loseAtSnapshot === 0) throw new DeviceError("device_lost", "The GPU device was lost: test.");
    return { files: { weight: Uint8Array.of(this.weight) }, weightsSha256: `${this.weight}`, optimizerSteps: 0 };
  }

  loseDevice(): void {
    this.lost = true;
  }

  dispose(): void {
    this.log.push("dispose");
  }
}

/** An engine on the counting model, and what its device was made to do. */
export async function openEngine(
  faults: readonly EngineFault[] = [],
  loseAtSnapshot = 0,
  policy?: DevicePolicy,
  /** Called before a device is opened, the first one too; may throw. */
  opening: (log: string[]) => void = () => {},
): Promise<{ engine: LocalEngine; log: string[] }> {
  const log: string[] = [];
  const engine = await LocalEngine.open({
    open: async (state) => {
      opening(log);
      const parts = new CountingParts(log, state?.files.weight?.[0] ?? 0);
      if (state === null || log.length === 0) parts.loseAtSnapshot = loseAtSnapshot;
      return parts;
    },
    clock: { ...clock, sleep: async (ms) => void log.push(`sleep ${ms}`) },
    limits: { maxSequences: 4, prefillTokens: 32, burst: 4 },
    version: 0,
    faults,
    ...(policy === undefined ? {} : { policy }),
  });
  return { engine, log };
}

/** A generation of `maxTokens` at temperature 1. */
export function request(
  id: string,
  promptIds: number[],
  maxTokens: number,
  more: Partial<GenerateRequest> = {},
): GenerateRequest {
  return {
    id,
    promptIds: Int32Array.from(promptIds),
    maxTokens,
    sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
    key: [0, 0],
    stopIds: [],
    stopStrings: [],
    ...more,
  };
}

/** An update without rows. */
export const emptyUpdate = (id: string): UpdateRequest => ({
  id,
  rows: [],
  loss: {
    kind: "ppo",
    temperature: 1,
    clipLow: 0.2,
    clipHigh: 0.2,
    dualClip: 3,
    klCoef: 0,
    klKind: "k3",
    entropyCoef: 0,
  },
  optimizer: { learningRate: 0, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 },
});

/** A row whose "gradient" on CountingParts is `id`. */
export function countingRow(id: number): TrainRow {
  const one = new Float32Array(1);
  return {
    ids: Int32Array.of(id),
    src: new Int32Array(1),
    target: new Int32Array(1),
    weight: one,
    advantage: one,
    oldLogprob: one,
  };
}

/** What CountingParts draws, worked out apart from it. */
export function expected(prompt: number[], count: number, weight = 0): number[] {
  const tokens = [...prompt];
  for (let i = 0; i < count; i++) tokens.push((tokens.reduce((a, b) => a + b, 0) + weight) % 50);
  return tokens.slice(prompt.length);
}
