import { BatchFormer, type BatchLimits } from "../infer/batch_former.ts";
import { BlockPool } from "../infer/block_pool.ts";
import type { Drawn } from "../infer/runner.ts";
import type { Sequence } from "../infer/sequence.ts";
import type { EngineStats, GenerateRequest, GenerateResult } from "../schema/engine.ts";
import { checkGenerate, duplicateRequest } from "./admission.ts";
import { appendDrawn } from "./append_drawn.ts";
import type { DeviceTimes } from "./device_times.ts";
import type { EngineParts } from "./engine_parts.ts";
import { emptyResult, Jobs } from "./jobs.ts";

/** What generations need of their engine. */
export interface GenerationsDeps {
  readonly limits: BatchLimits;
  readonly pageCount: number;
  readonly times: DeviceTimes;
  /** The parts on the device that is open now. */
  parts(): EngineParts;
  version(): number;
}

/** Counters of what was drawn. */
export type GenerationCounters = Pick<EngineStats, "promptTokens" | "cachedTokens" | "sampledTokens" | "decodeSteps">;

/** The sequences in flight and those held back: admits them, runs their prefill and decode steps, ends them. */
export class Generations {
  readonly counters: GenerationCounters = { promptTokens: 0, cachedTokens: 0, sampledTokens: 0, decodeSteps: 0 };
  readonly jobs: Jobs = new Jobs();
  private readonly deps: GenerationsDeps;
  private readonly pool: BlockPool;
  private readonly former: BatchFormer;

  constructor(deps: GenerationsDeps) {
    this.deps = deps;
    this.pool = new BlockPool(deps.pageCount);
    this.former = new BatchFormer(this.pool, deps.limits);
    this.former.version = deps.version();
  }

  get wantsPrefill(): boolean {
    return this.former.wantsPrefill;
  }

  get wantsDecode(): boolean {
    return this.former.wantsDecode;
  }

  /** Sequences that wait for their result, held ones not counted. */
  get inFlight(): number {
    return this.jobs.generations.size;
  }

  /** Sequences with pages, and all that wait for some. */
  get sizes(): Pick<EngineStats, "activeSequences" | "queuedSequences"> {
    return { activeSequences: this.former.active, queuedSequences: this.former.queued + this.jobs.held.length };
  }

  /** Holds a request until `admit`. @throws LeydenError as checkGenerate; "duplicate_request" */
  hold(request: GenerateRequest): Promise<GenerateResult> {
    checkGenerate(request, this.deps.parts().info);
    if (this.jobs.has(request.id)) throw duplicateRequest(request.id);
    return new Promise((resolve, reject) => this.jobs.held.push({ request, resolve, reject }));
  }

  /** Lets the held requests in. */
  admit(): void {
    for (const { request, resolve, reject } of this.jobs.held.splice(0)) {
      const sequence = this.former.add(request, this.deps.parts().info.contextLength);
      this.jobs.generations.set(request.id, { request: sequence, resolve, reject });
    }
  }

  /** Ends a generation, held or in flight; unknown ids are ignored. */
  cancel(id: string): void {
    const held = this.jobs.takeHeld(id);
    held?.resolve(emptyResult(held.request));
    const sequence = this.former.find(id);
    if (sequence !== undefined) this.finish(sequence, sequence.result("cancelled", sequence.sampled));
  }

  async prefill(): Promise<void> {
    const parts = this.former.formPrefill();
    const drawn = await this.deps.times.measure("prefill", () => this.deps.parts().prefill(parts));
    for (const [i, { sequence, from, to }] of parts.entries()) {
      this.counters.promptTokens += to - from;
      if (!this.jobs.isHere(sequence)) continue;
      this.former.advance(sequence, to);
      this.take(sequence, drawn[i] as Drawn);
    }
  }

  async decode(): Promise<void> {
    const work = this.former.formDecode();
    if (work === null) return;
    const drawn = await this.deps.times.measure("decode", () => this.deps.parts().decode(work));
    this.counters.decodeSteps += work.steps;
    for (const [i, sequence] of work.sequences.entries()) {
      if (this.jobs.isHere(sequence)) this.take(sequence, drawn[i] as Drawn);
    }
  }

  /** The weights have changed: what is cached is void, and sequences in flight go on as `keep` says. */
  renew(version: number, keep: boolean): void {
    this.former.renew(version, keep);
  }

  /** The device is gone, and with it every key and value; `version` is that of the weights on the next one. */
  startOver(version: number): void {
    this.former.version = version;
    this.former.requeue();
    this.pool.clearCache();
  }

  /** Ends every sequence in flight with an error. */
  failAll(error: unknown): void {
    for (const job of [...this.jobs.generations.values()]) this.finish(job.request, null, error);
  }

  private take(sequence: Sequence, drawn: Drawn): void {
    const before = sequence.sampled;
    const result = appendDrawn(sequence, drawn, this.deps.version(), this.deps.parts().decodeText);
    this.counters.sampledTokens += sequence.sampled - before;
    if (drawn.ids.length > 0) this.former.advance(sequence, Math.max(sequence.computed, sequence.length - 1));
    if (drawn.error !== undefined) this.finish(sequence, null, drawn.error);
    else if (result !== null) this.finish(sequence, result);
  }

  private finish(sequence: Sequence, result: GenerateResult | null, error?: unknown): void {
    this.former.remove(sequence);
    this.counters.cachedTokens += sequence.cachedTokens;
    this.jobs.end(sequence, result, error);
  }
}
