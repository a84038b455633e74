import type { DeviceTime, Engine, GenerateRequest, TrainRow, UpdateRequest } from "../../src/schema/engine.ts";
import type { ScoreRowsRequest } from "../../src/schema/row_scores.ts";
import type { VirtualClock } from "../engine/virtual_clock.ts";

/** Milliseconds of each kind of work; generation takes them per reply. */
export const toyMs = { generate: 250, score: 500, critic: 1000, update: 2000 } as const;

/**
 * An engine whose work costs time of a virtual clock. Replies are two tokens, the second the stop; log-probabilities are
 * -0.5 when drawn and -0.75 when they are scored or trained.
 */
export function toyEngine(clock: VirtualClock, version = 0): Engine {
  let now = version;
  const device: DeviceTime = { prefill: 0, decode: 0, train: 0, optimizer: 0, score: 0, idle: 0 };
  const spend = (kind: keyof DeviceTime, ms: number): number => {
    clock.spend(ms);
    device[kind] += ms / 1000;
    return ms;
  };
  const records = (rows: readonly TrainRow[]): number => rows.reduce((n, row) => n + row.src.length, 0);
  const all = (rows: readonly TrainRow[], value: number) => new Float32Array(records(rows)).fill(value);
  const engine: Partial<Record<keyof Engine, unknown>> = {
    info: async () => ({ version: now, microBatchTokens: 100 }),
    stats: async () => ({ deviceSeconds: { ...device }, activeSequences: 2, queuedSequences: 1 }),
    generate: async ({ id }: GenerateRequest) => {
      spend("decode", toyMs.generate);
      const ids = Int32Array.of(id.endsWith("s0") ? 4 : 5, 1);
      const drawn = { logprobs: Float32Array.of(-0.5, -0.5), versions: Int32Array.of(now, now) };
      return { id, ids, ...drawn, finishReason: "stop", cachedTokens: 0, truncated: false };
    },
    scoreRows: async ({ rows, policy, reference, values }: ScoreRowsRequest) => {
      const ms = (isAsked: boolean) => (isAsked ? spend("score", toyMs.score) : null);
      return {
        ...{ logprobs: policy ? all(rows, -0.75) : null, entropies: policy ? all(rows, 1) : null },
        ...{ refLogprobs: reference ? all(rows, -1) : null, values: values ? all(rows, 0.5) : null },
        ms: { policy: ms(policy), reference: ms(reference), values: ms(values) },
      };
    },
    updateCritic: async () => ({
      ...{ skipped: null, loss: 2, gradNorm: 3, clipFrac: 0.25 },
      trainMs: spend("train", toyMs.critic),
    }),
    update: async ({ rows }: UpdateRequest) => {
      const trainMs = spend("train", toyMs.update);
      now++;
      return {
        ...{ version: now, skipped: null, loss: 1, pgLoss: 0.5, gradNorm: 1, entropy: 1, clipFrac: 0, dualClipFrac: 0 },
        ...{ approxKl: 0, logprobDiffMax: 0, tokens: records(rows), computedTokens: 0, trainMs, drainMs: 0 },
        logprobs: all(rows, -0.75),
      };
    },
    snapshot: async () => ({ version: now, optimizerSteps: now, files: {}, weightsSha256: "w" }),
  };
  return engine as unknown as Engine;
}
