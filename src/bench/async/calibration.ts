import { Rng, seedKey } from "../../core/rng.ts";
import type { DeviceCosts } from "../../schedule/virtual_device.ts";
import type { Engine, EngineStats, TrainRow } from "../../schema/engine.ts";
import type { LossConfig, OptimizerConfig } from "../../schema/loss.ts";
import { fitCosts } from "./fit.ts";
import { asyncModel, asyncWork } from "./workload.ts";

const loss: LossConfig = {
  kind: "ppo",
  temperature: 1,
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: 3,
  klCoef: 0,
  klKind: "k3",
  entropyCoef: 0,
};
const optimizer: OptimizerConfig = {
  learningRate: 0,
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-8,
  weightDecay: 0,
  maxGradNorm: 1,
};

/** Sequences at once and tokens of their prompts, for the costs of decoding. */
const decodeShapes = [
  [1, 64],
  [4, 64],
  [16, 64],
  [48, 64],
  [1, 1024],
  [16, 1024],
] as const;
/** New tokens, and tokens before them that are cached, for the costs of prefill. */
const prefillShapes = [
  [88, 16],
  [200, 16],
  [500, 16],
  [88, 1024],
  [500, 1024],
] as const;
/** Rows and tokens of each, for the costs of training. */
const trainShapes = [
  [4, 128],
  [4, 600],
  [1, 2400],
  [16, 96],
] as const;
const decodedTokens = 33;
/** A prefill step is short: the middle one of these counts. */
const prefillRepeats = 3;

/** Milliseconds by kind of work, and decode steps, of some work. */
interface Spent {
  prefillMs: number;
  decodeMs: number;
  trainMs: number;
  optimizerMs: number;
  idleMs: number;
  decodeSteps: number;
}

/** What an engine's actions take, and how long a quantum of its training is. */
export interface Calibration {
  readonly costs: DeviceCosts;
  readonly quantumMs: number;
}

/** Measures an engine's actions; its weights, moments and version stay as they are. */
export class Calibrator {
  private readonly engine: Engine;
  private readonly rng = new Rng(seedKey(77));
  private calls = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Runs every shape once without noting its time, so that no plan is built within a measurement. */
  async warmUp(): Promise<void> {
    for (const [batch, tokens] of decodeShapes) await this.generate(batch, tokens, 5);
    for (const [rows, tokens] of trainShapes) await this.gradients(rows, tokens);
  }

  /** Measures every shape and fits straight lines. */
  async measure(): Promise<Calibration> {
    const decode = await this.decodeCosts();
    const prefill = await this.prefillCosts();
    const train = await this.trainCosts();
    return { costs: { ...decode, ...prefill, ...train.costs }, quantumMs: train.quantumMs };
  }

  private async decodeCosts(): Promise<
    Pick<DeviceCosts, "decodeStep" | "decodeSequence" | "decodeContext" | "action">
  > {
    const features: number[][] = [];
    const values: number[] = [];
    let idleMs = 0;
    let actions = 0;
    for (const [batch, tokens] of decodeShapes) {
      const spent = await this.spentOn(() => this.generate(batch, tokens, decodedTokens));
      const context = batch * (tokens + decodedTokens / 2);
      features.push([1, batch, context / 1000]);
      values.push(spent.decodeMs / spent.decodeSteps);
      if (batch > 1) continue;
      idleMs += spent.idleMs;
      actions += spent.decodeSteps / 4;
    }
    const [decodeStep = 0, decodeSequence = 0, decodeContext = 0] = fitCosts(features, values);
    return { decodeStep, decodeSequence, decodeContext, action: Math.min(2, idleMs / actions) };
  }

  private async prefillCosts(): Promise<Pick<DeviceCosts, "prefillStep" | "prefillToken" | "prefillPairs">> {
    const features: number[][] = [];
    const values: number[] = [];
    for (const [tokens, before] of prefillShapes) {
      const prompt = this.tokens(before);
      await this.call(prompt, 1);
      const times: number[] = [];
      for (let i = 0; i < prefillRepeats; i++) {
        const extended = [...prompt, ...this.tokens(tokens)];
        times.push((await this.spentOn(() => this.call(extended, 1))).prefillMs);
      }
      features.push([1, tokens, (tokens * (before + tokens / 2)) / 1000]);
      values.push(times.sort((a, b) => a - b)[prefillRepeats >> 1] as number);
    }
    const [prefillStep = 0, prefillToken = 0, prefillPairs = 0] = fitCosts(features, values);
    return { prefillStep, prefillToken, prefillPairs };
  }

  private async trainCosts(): Promise<{
    costs: Pick<DeviceCosts, "trainGroup" | "trainToken" | "trainPairs" | "optimizer">;
    quantumMs: number;
  }> {
    const features: number[][] = [];
    const values: number[] = [];
    let optimizerMs = 0;
    for (const [rows, tokens] of trainShapes) {
      const spent = await this.spentOn(() => this.gradients(rows, tokens));
      features.push([1, rows * tokens, (rows * tokens * tokens) / 2 / 1000]);
      values.push(spent.trainMs);
      optimizerMs += spent.optimizerMs / trainShapes.length;
    }
    const [trainGroup = 0, trainToken = 0, trainPairs = 0] = fitCosts(features, values);
    // A pass is cut at every layer, forward and backward, and at the head.
    const quanta = 2 * asyncModel.num_hidden_layers + 2;
    const quantumMs = (trainGroup + trainToken * 2400 + (trainPairs * 2400 * 600) / 2 / 1000) / quanta;
    return { costs: { trainGroup, trainToken, trainPairs, optimizer: optimizerMs }, quantumMs };
  }

  private async spentOn(work: () => Promise<unknown>): Promise<Spent> {
    const before = await this.engine.stats();
    await work();
    const after = await this.engine.stats();
    const ms = (kind: keyof EngineStats["deviceSeconds"]): number =>
      1000 * (after.deviceSeconds[kind] - before.deviceSeconds[kind]);
    return {
      prefillMs: ms("prefill"),
      decodeMs: ms("decode"),
      trainMs: ms("train"),
      optimizerMs: ms("optimizer"),
      idleMs: ms("idle"),
      decodeSteps: after.decodeSteps - before.decodeSteps,
    };
  }

  private tokens(count: number): number[] {
    return Array.from({ length: count }, () => this.rng.below(asyncModel.vocab_size));
  }

  private call(prompt: readonly number[], maxTokens: number): Promise<unknown> {
    return this.engine.generate({
      id: `calibrate-${this.calls++}`,
      promptIds: Int32Array.from(prompt),
      maxTokens,
      sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
      key: [0, this.calls],
      stopIds: [],
      stopStrings: [],
    });
  }

  private async generate(batch: number, promptTokens: number, maxTokens: number): Promise<void> {
    const prompts = Array.from({ length: batch }, () => this.tokens(promptTokens));
    // Prompts first, one after the other: the sequences then decode together from the start.
    for (const prompt of prompts) await this.call(prompt, 1);
    await Promise.all(prompts.map((prompt) => this.call(prompt, maxTokens)));
  }

  /** A pass over rows whose records weigh nothing: the step that asks for it changes nothing. */
  private async gradients(count: number, tokens: number): Promise<void> {
    const rows = Array.from({ length: count }, () => this.row(tokens));
    await this.engine.update({ id: `calibrate-${this.calls++}`, rows, loss, optimizer });
  }

  private row(tokens: number): TrainRow {
    // As many records as the list has: replies of 16 tokens after 72 others.
    const { replyTokens, toolTokens } = asyncWork;
    const src = Array.from({ length: tokens - 1 }, (_, t) => t).filter(
      (t) => t % (replyTokens + toolTokens) >= toolTokens,
    );
    const ids = Int32Array.from(this.tokens(tokens));
    const zeros = new Float32Array(src.length);
    return {
      ids,
      src: Int32Array.from(src),
      target: Int32Array.from(src, (t) => ids[t + 1] as number),
      weight: zeros,
      advantage: zeros,
      oldLogprob: zeros,
    };
  }
}
