import { pageTokens } from "../ops/kv_pages.ts";
import type { GenerateRequest } from "../schema/engine.ts";
import type { TokenConstraint } from "../schema/token_constraint.ts";
import type { BlockPool } from "./block_pool.ts";
import { Sequence } from "./sequence.ts";
import { stepwiseRows } from "./stepwise.ts";

/** Bounds of one device step. */
export interface BatchLimits {
  /** Sequences that hold pages at once. */
  maxSequences: number;
  /** Prompt tokens of one prefill step. */
  prefillTokens: number;
  /** Decode steps between two readbacks. */
  burst: number;
}

/** Tokens `from`..`to` of a sequence go through the model; `samples` when the last of them is its newest token. */
export interface PrefillPart {
  readonly sequence: Sequence;
  readonly from: number;
  readonly to: number;
  readonly samples: boolean;
}

/** `steps` tokens are drawn for each sequence without a readback in between; stepwise sequences come by themselves. */
export interface DecodeWork {
  readonly sequences: readonly Sequence[];
  readonly steps: number;
}

/**
 * Continuous batching over a paged cache: admits waiting sequences as pages allow, forms prefill chunks and decode
 * bursts, and preempts the newest sequence when a burst lacks pages. Pure.
 */
export class BatchFormer {
  readonly limits: BatchLimits;
  private readonly pool: BlockPool;
  private readonly waiting: Sequence[] = [];
  private readonly running: Sequence[] = [];
  private decodeSteps = 0;
  /** Preemptions so far. */
  preemptions = 0;
  /** Policy version of the weights; cached pages of another one are not shared. */
  version = 0;

  constructor(pool: BlockPool, limits: BatchLimits) {
    this.pool = pool;
    this.limits = limits;
  }

  get queued(): number {
    return this.waiting.length;
  }

  get active(): number {
    return this.running.length;
  }

  /** Tokens one sequence can ever hold in this cache. */
  get capacityTokens(): number {
    return this.pool.pageCount * pageTokens;
  }

  /**
   * Queues a request behind the others. It may sample one token more than the context holds: nothing is computed from
   * the last one, so it takes no place in it.
   */
  add(request: GenerateRequest, contextLength: number, constraint: TokenConstraint | null = null): Sequence {
    const sequence = new Sequence(request, Math.min(contextLength + 1, this.capacityTokens), constraint);
    this.waiting.push(sequence);
    return sequence;
  }

  /** Removes a sequence and frees its pages; false when it is not here. */
  remove(sequence: Sequence): boolean {
    for (const list of [this.waiting, this.running]) {
      const at = list.indexOf(sequence);
      if (at < 0) continue;
      list.splice(at, 1);
      sequence.releasePages(this.pool);
      return true;
    }
    return false;
  }

  /** The sequence of a request id, waiting or running. */
  find(id: string): Sequence | undefined {
    return this.running.find((s) => s.request.id === id) ?? this.waiting.find((s) => s.request.id === id);
  }

  /** Every sequence, running ones first. */
  all(): Sequence[] {
    return [...this.running, ...this.waiting];
  }

  /** Frees the pages of running sequences and puts these back in the queue, in order: their keys and values are gone. */
  requeue(which: (sequence: Sequence) => boolean = () => true): void {
    const running = this.running.splice(0);
    const again = running.filter(which);
    for (const s of again) {
      s.releasePages(this.pool);
      s.preemptions++;
    }
    this.running.push(...running.filter((s) => !again.includes(s)));
    this.waiting.unshift(...again);
  }

  /**
   * The weights have changed. Sequences that decode go on with the keys and values they have (`keep`), or compute them
   * anew; those whose prompt is not through begin again in any case, so that a reply that mixes weights shows it by its
   * versions.
   */
  renew(version: number, keep: boolean): void {
    this.version = version;
    this.requeue((s) => !(keep && s.isDecoding));
    for (const s of this.running) s.stopPublishing();
    this.pool.clearCache();
  }

  /** True when a prefill step can do something now. */
  get wantsPrefill(): boolean {
    return this.running.some((s) => !s.isDecoding) || this.nextToAdmit() !== undefined;
  }

  /** True when some sequence is ready to draw its next token. */
  get wantsDecode(): boolean {
    return this.running.some((s) => s.isDecoding);
  }

  /** Admits what fits, then takes prompt tokens in order of arrival up to the chunk size. */
  formPrefill(): PrefillPart[] {
    for (let next = this.nextToAdmit(); next !== undefined; next = this.nextToAdmit()) {
      this.waiting.splice(this.waiting.indexOf(next), 1);
      this.admit(next);
    }
    const parts: PrefillPart[] = [];
    let room = this.limits.prefillTokens;
    let stepwise = 0;
    for (const sequence of this.running) {
      if (room === 0 || stepwise === stepwiseRows) break;
      if (sequence.isDecoding) continue;
      const from = sequence.computed;
      const to = Math.min(sequence.length, from + room);
      room -= to - from;
      const samples = to === sequence.length;
      if (samples && sequence.isStepwise) stepwise++;
      parts.push({ sequence, from, to, samples });
    }
    return parts;
  }

  /**
   * The ready sequences, with pages for the whole burst; null when none is left after preemption. Those that need the
   * host between two tokens leave the burst: they take turns with it, one token at a time, the longest unserved first.
   */
  formDecode(): DecodeWork | null {
    let ready = this.nextReady();
    if (ready.length === 0) return null;
    for (const sequence of ready) sequence.lastServed = this.decodeSteps;
    const longest = Math.max(...ready.map((s) => s.remaining));
    const steps = ready[0]?.isStepwise === true ? 1 : Math.min(this.limits.burst, longest);
    for (const sequence of [...ready]) {
      if (!this.running.includes(sequence)) continue;
      const tokens = Math.min(sequence.length + steps, sequence.tokens.length);
      while (!sequence.reserve(this.pool, tokens)) {
        if (!this.preemptNewest(sequence)) break;
      }
    }
    ready = ready.filter((s) => this.running.includes(s));
    return ready.length === 0 ? null : { sequences: ready, steps };
  }

  /** Notes that keys and values up to `computed` exist. */
  advance(sequence: Sequence, computed: number): void {
    sequence.advance(this.pool, computed);
  }

  private nextReady(): Sequence[] {
    this.decodeSteps++;
    const ready = this.running.filter((s) => s.isDecoding);
    const served = (sequences: readonly Sequence[]): number => Math.min(...sequences.map((s) => s.lastServed));
    const stepwise = ready.filter((s) => s.isStepwise);
    const free = ready.filter((s) => !s.isStepwise);
    if (stepwise.length === 0 || (free.length > 0 && served(free) <= served(stepwise))) return free;
    return stepwise.sort((a, b) => a.lastServed - b.lastServed).slice(0, stepwiseRows);
  }

  /**
   * The first waiting sequence that no running one is computing a prefix for: those let others go ahead, since the
   * prefix will be there for them to share. Undefined when it does not fit.
   */
  private nextToAdmit(): Sequence | undefined {
    if (this.running.length >= this.limits.maxSequences) return undefined;
    const prefilling = this.running.filter((s) => !s.isDecoding);
    const next = this.waiting.find((s) => !prefilling.some((ahead) => s.follows(ahead)));
    if (next === undefined) return undefined;
    return Math.ceil((next.length + 1) / pageTokens) <= this.pool.available ? next : undefined;
  }

  private admit(sequence: Sequence): void {
    sequence.attachCached(this.pool, this.pool.root(this.version, sequence.request.adapter ?? ""));
    if (!sequence.reserve(this.pool, sequence.length + 1)) {
      sequence.releasePages(this.pool);
      this.waiting.unshift(sequence);
      return;
    }
    this.running.push(sequence);
  }

  /** Sends the newest running sequence back to the queue; false when it was `last`, which then waits itself. */
  private preemptNewest(last: Sequence): boolean {
    const victim = this.running.at(-1) as Sequence;
    this.running.pop();
    victim.releasePages(this.pool);
    victim.preemptions++;
    this.preemptions++;
    this.waiting.unshift(victim);
    return victim !== last;
  }
}
