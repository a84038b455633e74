import type { Sequence } from "../infer/sequence.ts";
import type { GenerateRequest, GenerateResult } from "../schema/engine.ts";
import type { TokenConstraint } from "../schema/token_constraint.ts";

/** A request with the promise that waits for its result. */
export interface Job<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** A generation that has not begun. */
export interface HeldJob extends Job<GenerateRequest, GenerateResult> {
  /** Undefined while its constraint is being compiled, null when it has none. */
  constraint: TokenConstraint | null | undefined;
}

/** The generations that callers wait for. */
export class Jobs {
  /** Generations the batch former knows, by request id. */
  readonly generations: Map<string, Job<Sequence, GenerateResult>> = new Map();
  /** Generations held back by a drain, a due update or the compiling of their constraint, in order of arrival. */
  readonly held: HeldJob[] = [];
  private readonly drains: (() => void)[] = [];

  /** True when a generation with this id is held or in flight. */
  has(id: string): boolean {
    return this.generations.has(id) || this.held.some((h) => h.request.id === id);
  }

  /** True when this very sequence still waits for its result. */
  isHere(sequence: Sequence): boolean {
    return this.generations.get(sequence.request.id)?.request === sequence;
  }

  /** Takes a held generation out by id. */
  takeHeld(id: string): HeldJob | undefined {
    const at = this.held.findIndex((h) => h.request.id === id);
    return at < 0 ? undefined : this.held.splice(at, 1)[0];
  }

  /** Takes out all held generations that can begin. */
  takeReady(): HeldJob[] {
    const all = this.held.splice(0);
    this.held.push(...all.filter((h) => h.constraint === undefined));
    return all.filter((h) => h.constraint !== undefined);
  }

  /** Ends a generation with a result or an error, and the drains that waited for the last one. */
  end(sequence: Sequence, result: GenerateResult | null, error?: unknown): void {
    const job = this.generations.get(sequence.request.id);
    this.generations.delete(sequence.request.id);
    if (result !== null) job?.resolve(result);
    else job?.reject(error);
    if (this.generations.size > 0) return;
    for (const resolve of this.drains.splice(0)) resolve();
  }

  /** Resolves when no generation is in flight. */
  async drained(): Promise<void> {
    if (this.generations.size > 0) await new Promise<void>((resolve) => this.drains.push(resolve));
  }

  /** Rejects the generations that have not begun. */
  rejectHeld(error: unknown): void {
    for (const { constraint, reject } of this.held.splice(0)) {
      constraint?.dispose();
      reject(error);
    }
  }
}

/** What a generation that never started answers when it is cancelled. */
export function emptyResult(request: GenerateRequest): GenerateResult {
  return {
    id: request.id,
    ids: new Int32Array(0),
    logprobs: new Float32Array(0),
    versions: new Int32Array(0),
    finishReason: "cancelled",
    cachedTokens: 0,
    truncated: false,
  };
}
