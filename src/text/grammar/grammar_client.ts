/** Grammars in a worker of their own: compiling one, or one that ends the library, holds up no reply but its own. */
import type { Clock } from "../../core/clock.ts";
import { ConfigError, LeydenError } from "../../core/errors.ts";
import type { WorkerHandle } from "../../schema/platform.ts";
import type { ConstraintCompiler, ConstraintSpec, TokenConstraint } from "../../schema/token_constraint.ts";
import type { TokenizerFiles } from "../../schema/tokenizer_files.ts";
import type { GrammarCall, GrammarOpen, GrammarReply } from "./grammar_messages.ts";

/** What grammars in a worker are made with. */
export interface GrammarClientDeps {
  /** Starts the worker; it is started anew where one had to be ended. */
  readonly spawn: () => WorkerHandle;
  /** The model's tokenizer, read at the first constraint. */
  readonly files: () => Promise<TokenizerFiles>;
  /** Rows of the model's head. */
  readonly vocabSize: number;
  readonly clock: Clock;
  /** How long one grammar may take to compile. */
  readonly limitMs?: number;
  /** How long the tokens that may come next may take. */
  readonly maskLimitMs?: number;
}

const defaultLimitMs = 20_000;

/** A grammar took longer than it may. */
export class GrammarTooSlow extends ConfigError {
  constructor(what: string, limitMs: number) {
    super(`What the reply must match takes longer than ${limitMs} ms ${what}.`, simpler);
  }
}

interface Waiting {
  readonly call: Extract<GrammarCall, { number: number }>;
  readonly resolve: (reply: GrammarReply) => void;
  readonly reject: (error: unknown) => void;
}

/** Makes constraints whose grammars live in a worker. */
export class GrammarClient implements ConstraintCompiler {
  private readonly deps: GrammarClientDeps;
  private worker: Promise<WorkerHandle> | null = null;
  private readonly live = new Map<number, RemoteConstraint>();
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;
  private lastNumber = 0;
  /** One grammar is compiled at a time, so that each has its time to itself. */
  private compiled: Promise<unknown> = Promise.resolve();

  constructor(deps: GrammarClientDeps) {
    this.deps = deps;
  }

  compile(spec: ConstraintSpec): Promise<TokenConstraint> {
    const made = this.compiled.then(() => this.compileNow(spec));
    this.compiled = made.catch(() => {});
    return made;
  }

  /** Which tokens may come next, as the worker says; null for all. */
  async mask(id: number): Promise<Uint32Array | null> {
    const number = ++this.lastNumber;
    const timer = new AbortController();
    void this.watch(id, number, timer.signal);
    try {
      const { bits = null } = await this.ask({ kind: "grammar_mask", id, number });
      return bits;
    } finally {
      timer.abort("answered");
    }
  }

  /** Gives a constraint up at which the worker stays: what waits behind it is not at fault. */
  private async watch(id: number, number: number, answered: AbortSignal): Promise<void> {
    const { clock, maskLimitMs = defaultLimitMs } = this.deps;
    do {
      await clock.sleep(maskLimitMs, answered).catch(() => {});
      if (answered.aborted) return;
    } while (this.waiting.keys().next().value !== number);
    this.live.delete(id);
    this.fail(new GrammarTooSlow("for the next token", maskLimitMs), [number]);
  }

  /** Tells the worker that a constraint accepted its token number `at`; a new worker may have heard of it already. */
  accept(constraint: RemoteConstraint, at: number): void {
    const token = constraint.accepted[at] as number;
    this.tell((worker) => {
      if (at >= constraint.told)
        worker.post({ kind: "grammar_accept", id: constraint.id, token } satisfies GrammarCall);
    });
  }

  dispose(id: number): void {
    this.live.delete(id);
    this.tell((worker) => worker.post({ kind: "grammar_dispose", id } satisfies GrammarCall));
  }

  /** What has no answer; a worker that cannot be had is told nothing. */
  private tell(say: (worker: WorkerHandle) => void): void {
    this.worker?.then(say, () => {});
  }

  private async compileNow(spec: ConstraintSpec): Promise<TokenConstraint> {
    const { clock, limitMs = defaultLimitMs } = this.deps;
    const id = ++this.lastId;
    // Starting a worker is not the grammar's time.
    this.worker ??= this.start();
    await this.worker;
    const timer = new AbortController();
    const late = clock.sleep(limitMs, timer.signal).then(
      () => this.fail(new GrammarTooSlow("to compile", limitMs)),
      () => {},
    );
    try {
      await this.ask({ kind: "grammar_compile", id, spec, number: ++this.lastNumber });
    } finally {
      timer.abort("compiled");
      await late;
    }
    const constraint = new RemoteConstraint(this, id, spec);
    this.live.set(id, constraint);
    return constraint;
  }

  private async ask(call: Waiting["call"]): Promise<GrammarReply> {
    const answered = new Promise<GrammarReply>((resolve, reject) => {
      this.waiting.set(call.number, { call, resolve, reject });
    });
    this.worker ??= this.start();
    this.worker.then(
      (worker) => void (this.waiting.has(call.number) && worker.post(call)),
      (error: unknown) => this.settle(call.number, error),
    );
    return await answered;
  }

  private async start(): Promise<WorkerHandle> {
    const files = await this.deps.files();
    const worker = this.deps.spawn();
    const ready = Promise.withResolvers<void>();
    const number = ++this.lastNumber;
    worker.onMessage((message) => {
      const reply = message as GrammarReply;
      if (reply.number === number) ready.resolve();
      else this.receive(reply);
    });
    worker.onError((error) => ready.reject(uncompilable(error)));
    worker.post({ kind: "grammar_open", files, vocabSize: this.deps.vocabSize } satisfies GrammarOpen);
    // The first grammar loads the library and the vocabulary.
    worker.post({ kind: "grammar_compile", number, id: 0, spec: { kind: "json_object" } } satisfies GrammarCall);
    worker.post({ kind: "grammar_dispose", id: 0 } satisfies GrammarCall);
    try {
      await ready.promise;
    } catch (thrown) {
      this.worker = null;
      await worker.terminate();
      throw thrown;
    }
    worker.onError((error) => this.fail(uncompilable(error)));
    return worker;
  }

  /**
   * Ends the worker: what it was compiling fails, or else what it was asked for. The constraints of others go to a new
   * one, each with the tokens that it has accepted.
   */
  private fail(error: LeydenError, failed: readonly number[] = this.suspects()): void {
    for (const number of failed) this.settle(number, error);
    this.worker = this.restart(this.worker);
  }

  private suspects(): number[] {
    const all = [...this.waiting.keys()];
    const compiling = all.filter((number) => this.waiting.get(number)?.call.kind === "grammar_compile");
    return compiling.length > 0 ? compiling : all;
  }

  private async restart(ended: Promise<WorkerHandle> | null): Promise<WorkerHandle> {
    await ended?.then((worker) => worker.terminate()).catch(() => {});
    const asked = [...this.waiting.values()];
    const worker = await this.start().catch((thrown: unknown) => {
      for (const { call } of asked) this.settle(call.number, thrown);
      throw thrown;
    });
    for (const constraint of this.live.values()) {
      const { id, spec, accepted } = constraint;
      worker.post({ kind: "grammar_compile", number: ++this.lastNumber, id, spec } satisfies GrammarCall);
      for (const token of accepted) worker.post({ kind: "grammar_accept", id, token } satisfies GrammarCall);
      constraint.told = accepted.length;
    }
    for (const { call } of asked) if (this.waiting.has(call.number)) worker.post(call);
    return worker;
  }

  private settle(number: number, error: unknown): void {
    this.waiting.get(number)?.reject(error);
    this.waiting.delete(number);
  }

  private receive(reply: GrammarReply): void {
    if (reply.kind !== "grammar_reply") return;
    const { number, error, isFatal } = reply;
    if (error) this.settle(number, new LeydenError(error.code, error.message, { do: error.do }));
    else this.waiting.get(number)?.resolve(reply);
    this.waiting.delete(number);
    if (isFatal) this.worker = this.restart(this.worker);
  }
}

const simpler = { do: "Use a simpler JSON schema: fewer properties, shorter enums and patterns." };

/** What ended the worker is for the cause: it says nothing of the request. */
function uncompilable(cause: Error): ConfigError {
  return new ConfigError("What the reply must match ended the worker that makes grammars.", { ...simpler, cause });
}

/** One reply's place in a grammar, which is in the worker. */
class RemoteConstraint implements TokenConstraint {
  readonly id: number;
  readonly spec: ConstraintSpec;
  readonly accepted: number[] = [];
  /** How many of them a worker got with the grammar. */
  told = 0;
  private readonly client: GrammarClient;

  constructor(client: GrammarClient, id: number, spec: ConstraintSpec) {
    this.client = client;
    this.id = id;
    this.spec = spec;
  }

  async mask(out: Uint32Array): Promise<boolean> {
    const bits = await this.client.mask(this.id);
    if (bits === null) return false;
    out.set(bits.subarray(0, out.length));
    return true;
  }

  accept(token: number): void {
    this.client.accept(this, this.accepted.push(token) - 1);
  }

  dispose(): void {
    this.client.dispose(this.id);
  }
}
