import { LeydenError } from "../core/errors.ts";
import { BatchFormer, type BatchLimits } from "../infer/batch_former.ts";
import { BlockPool } from "../infer/block_pool.ts";
import type { Drawn } from "../infer/runner.ts";
import type { Sequence } from "../infer/sequence.ts";
import type { EngineStats, GenerateRequest, GenerateResult } from "../schema/engine.ts";
import type { ConstraintSpec } from "../schema/token_constraint.ts";
import { checkGenerate, duplicateRequest } from "./admission.ts";
import { appendDrawn } from "./append_drawn.ts";
import type { DeviceTimes } from "./device_times.ts";
import type { EngineParts } from "./engine_parts.ts";
import { emptyResult, type HeldJob, Jobs } from "./jobs.ts";

/** What generations need of their engine. */
export interface GenerationsDeps {
  readonly limits: BatchLimits;
  readonly pageCount: number;
  readonly times: DeviceTimes;
  /** The parts on the device that is open now. */
  parts(): EngineParts;
  version(): number;
  /** Called when a held generation can begin that could not before. */
  ready(): void;
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
    return new Promise((resolve, reject) => {
      const constraint = request.constraint === undefined ? null : undefined;
      const job: HeldJob = { request, resolve, reject, constraint };
      this.jobs.held.push(job);
      if (constraint === undefined) void this.compile(job);
    });
  }

  /** Lets the held requests in. */
  admit(): void {
    for (const { request, resolve, reject, constraint } of this.jobs.takeReady()) {
      const sequence = this.former.add(request, this.deps.parts().info.contextLength, constraint);
      this.jobs.generations.set(request.id, { request: sequence, resolve, reject });
    }
  }

  /** Ends a generation, held or in flight; unknown ids are ignored. */
  cancel(id: string): void {
    const held = this.jobs.takeHeld(id);
    held?.constraint?.dispose();
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
      await this.take(sequence, drawn[i] as Drawn);
    }
  }

  async decode(): Promise<void> {
    const work = this.former.formDecode();
    if (work === null) return;
    const drawn = await this.deps.times.measure("decode", () => this.deps.parts().decode(work));
    this.counters.decodeSteps += work.steps;
    for (const [i, sequence] of work.sequences.entries()) {
      if (this.jobs.isHere(sequence)) await this.take(sequence, drawn[i] as Drawn);
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

  /** Makes the constraint of a held generation; it may have been cancelled by then. */
  private async compile(job: HeldJob): Promise<void> {
    try {
      const { constraints } = this.deps.parts();
      if (constraints === undefined) throw unconstrained();
      const constraint = await constraints.compile(job.request.constraint as ConstraintSpec);
      if (this.jobs.held.includes(job)) job.constraint = constraint;
      else constraint.dispose();
      this.deps.ready();
    } catch (thrown) {
      this.jobs.takeHeld(job.request.id);
      job.reject(thrown);
    }
  }

  private async take(sequence: Sequence, drawn: Drawn): Promise<void> {
    const before = sequence.sampled;
    const result = appendDrawn(sequence, drawn, this.deps.version(), this.deps.parts().decodeText);
    this.counters.sampledTokens += sequence.sampled - before;
    if (drawn.ids.length > 0) this.former.advance(sequence, Math.max(sequence.computed, sequence.length - 1));
    if (drawn.error !== undefined) this.finish(sequence, null, drawn.error);
    else if (result !== null) this.finish(sequence, result);
    else await this.accept(sequence, before);
  }

  /** Tells a sequence's constraint the tokens drawn since it had `before`. */
  private async accept(sequence: Sequence, before: number): Promise<void> {
    if (sequence.constraint === null) return;
    try {
      const { tokens, promptLength, length } = sequence;
      for (const id of tokens.subarray(promptLength + before, length)) await sequence.constraint.accept(id);
    } catch (thrown) {
      this.finish(sequence, null, thrown);
    }
  }

  private finish(sequence: Sequence, result: GenerateResult | null, error?: unknown): void {
    if (!this.jobs.isHere(sequence)) return;
    this.former.remove(sequence);
    sequence.constraint?.dispose();
    this.counters.cachedTokens += sequence.cachedTokens;
    this.jobs.end(sequence, result, error);
  }
}

function unconstrained(): LeydenError {
  return new LeydenError("constraint_unsupported", "This engine has no tokenizer, so it cannot constrain replies.", {
    do: "Serve a model folder with a tokenizer.json, or leave out the response format.",
  });
}
