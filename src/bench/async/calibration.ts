import { Rng, seedKey } from "../../core/rng.ts";
import type { DeviceCosts } from "../../schedule/virtual_device.ts";
import type { Engine, EngineStats, TrainRow } from "../../schema/engine.ts";
import type { LossConfig, OptimizerConfig } from "../../schema/loss.ts";
import { fitCosts } from "./fit.ts";
import { asyncModel, asyncWork } from "./workload.ts";

/** Decode steps of an action, as the engine was opened. */
const burst = 4;

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

/** Tokens of the prompts of sequences that decode at once: alone and in batches, of one length and of several. */
const decodeShapes: readonly (readonly number[])[] = [
  [64],
  [1024],
  [3000],
  new Array(6).fill(64),
  new Array(24).fill(64),
  [64, 200, 400, 700, 1200, 2400],
  new Array(12).fill(900),
  new Array(32).fill(1200),
  new Array(64).fill(600),
];
/** New tokens, and tokens before them that are cached, of the parts of one prefill step: one part, or several short ones. */
const prefillShapes: readonly (readonly (readonly [tokens: number, before: number])[])[] = [
  [[176, 16]],
  [[176, 700]],
  [[176, 2400]],
  [[500, 16]],
  [[500, 1600]],
  new Array(5).fill([96, 16]),
  new Array(5).fill([96, 900]),
  [100, 300, 600, 1100, 2200].map((before) => [96, before] as const),
];
/** Rows and tokens of each, for the costs of training. */
const trainShapes = [
  [4, 176],
  [12, 300],
  [5, 800],
  [2, 1800],
  [1, 3600],
  [1, 6000],
] as const;
const decodedTokens = 33;
/** A step is short: the middle one of these counts. */
const repeats = 3;
const turnRepeats = 20;

/** Milliseconds by kind of work, and decode steps, of some work. */
interface Spent {
  prefillMs: number;
  decodeMs: number;
  trainMs: number;
  optimizerMs: number;
  idleMs: number;
  decodeSteps: number;
}

/** What an engine's actions take, and how long an agent's next call takes to reach it. */
export interface Calibration {
  readonly costs: DeviceCosts;
  readonly turnMs: number;
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
    for (const prompts of decodeShapes) await this.generate(prompts, 5);
    for (const parts of prefillShapes) await this.prefill(parts);
    for (const [rows, tokens] of trainShapes) await this.gradients(rows, tokens);
  }

  /** Measures every shape and fits straight lines. */
  async measure(): Promise<Calibration> {
    const turnMs = await this.turn();
    const decode = await this.decodeCosts(turnMs);
    const prefill = await this.prefillCosts();
    const train = await this.trainCosts();
    return { costs: { ...decode, ...prefill, ...train }, turnMs };
  }

  /** How long the device waits between one call and the next of a caller that does nothing else. */
  private async turn(): Promise<number> {
    const prompt = this.tokens(8);
    const { idleMs } = await this.spentOn(async () => {
      for (let i = 0; i < turnRepeats; i++) await this.call(prompt, 1);
    });
    return idleMs / turnRepeats;
  }

  private async decodeCosts(
    turnMs: number,
  ): Promise<Pick<DeviceCosts, "decodeStep" | "decodeSequence" | "decodeContext" | "action">> {
    const features: number[][] = [];
    const values: number[] = [];
    let idleMs = 0;
    let actions = 0;
    for (const prompts of decodeShapes) {
      const all = await this.repeated(() => this.generate(prompts, decodedTokens));
      const context = prompts.reduce((sum, tokens) => sum + tokens + decodedTokens / 2, 0);
      features.push([1, prompts.length, context / 1000]);
      values.push(median(all.map((spent) => spent.decodeMs / spent.decodeSteps)));
      idleMs += all.reduce((sum, spent) => sum + Math.max(0, spent.idleMs - turnMs), 0);
      actions += all.reduce((sum, spent) => sum + spent.decodeSteps / burst, 0);
    }
    const [decodeStep = 0, decodeSequence = 0, decodeContext = 0] = fitCosts(features, values);
    return { decodeStep, decodeSequence, decodeContext, action: idleMs / actions };
  }

  private async prefillCosts(): Promise<Pick<DeviceCosts, "prefillStep" | "prefillToken" | "prefillPairs">> {
    const features: number[][] = [];
    const values: number[] = [];
    for (const parts of prefillShapes) {
      const all = await this.repeated(() => this.prefill(parts));
      const tokens = parts.reduce((sum, [own]) => sum + own, 0);
      const pairs = parts.reduce((sum, [own, before]) => sum + own * (before + own / 2), 0);
      features.push([1, tokens, pairs / 1000]);
      values.push(median(all.map((spent) => spent.prefillMs)));
    }
    const [prefillStep = 0, prefillToken = 0, prefillPairs = 0] = fitCosts(features, values);
    return { prefillStep, prefillToken, prefillPairs };
  }

  private async trainCosts(): Promise<Pick<DeviceCosts, "trainPass" | "trainToken" | "trainPairs" | "optimizer">> {
    const features: number[][] = [];
    const values: number[] = [];
    let optimizerMs = 0;
    for (const [rows, tokens] of trainShapes) {
      const all = await this.repeated(() => this.spentOn(() => this.gradients(rows, tokens)));
      features.push([1, rows * tokens, (rows * tokens * tokens) / 2 / 1000]);
      values.push(median(all.map((spent) => spent.trainMs)));
      optimizerMs += median(all.map((spent) => spent.optimizerMs)) / trainShapes.length;
    }
    const [trainPass = 0, trainToken = 0, trainPairs = 0] = fitCosts(features, values);
    return { trainPass, trainToken, trainPairs, optimizer: optimizerMs };
  }

  private async repeated(work: () => Promise<Spent>): Promise<Spent[]> {
    const all: Spent[] = [];
    for (let i = 0; i < repeats; i++) all.push(await work());
    return all;
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

  /** Sequences that decode together from their first token on: their prompts are cached, all but a page at most. */
  private async generate(promptTokens: readonly number[], maxTokens: number): Promise<Spent> {
    const prompts = promptTokens.map((count) => this.tokens(count));
    for (const prompt of prompts) await this.call(prompt, 1);
    return this.spentOn(() => this.together(prompts, maxTokens));
  }

  /** One prefill step of several parts, the tokens before them cached. */
  private async prefill(parts: readonly (readonly [tokens: number, before: number])[]): Promise<Spent> {
    const before = parts.map(([, cached]) => this.tokens(cached));
    for (const prompt of before) await this.call(prompt, 1);
    const prompts = before.map((prompt, i) => [...prompt, ...this.tokens(parts[i]?.[0] ?? 0)]);
    return this.spentOn(() => this.together(prompts, 1));
  }

  /** Calls that begin at once. */
  private async together(prompts: readonly number[][], maxTokens: number): Promise<void> {
    await this.engine.drain();
    const calls = prompts.map((prompt) => this.call(prompt, maxTokens));
    await this.engine.resume();
    await Promise.all(calls);
  }

  /** A pass over rows whose records weigh nothing: the step that asks for it changes nothing. */
  private async gradients(count: number, tokens: number): Promise<void> {
    const rows = Array.from({ length: count }, () => this.row(tokens));
    await this.engine.update({ id: `calibrate-${this.calls++}`, rows, loss, optimizer });
  }

  private row(tokens: number): TrainRow {
    // As many records as the list has: a reply to every tool's answer.
    const { replyTokens, toolTokens } = asyncWork;
    const src = Array.from({ length: tokens - 1 }, (_, t) => t).filter(
      (t) => t % (replyTokens + toolTokens) < replyTokens,
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

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}
