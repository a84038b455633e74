import {
  afterAction,
  type DeviceAction,
  type DeviceHistory,
  type DevicePolicy,
  nextDeviceAction,
  noHistory,
} from "./device_schedule.ts";

/** What a device's actions take, in milliseconds: straight lines, as a small model on one device has them. */
export interface DeviceCosts {
  /** One prefill step, per step, per token of it, and per thousand pairs of such a token and one that it sees. */
  prefillStep: number;
  prefillToken: number;
  prefillPairs: number;
  /** One decode step, per step, per sequence of it, and per thousand tokens of context over all its sequences. */
  decodeStep: number;
  decodeSequence: number;
  decodeContext: number;
  /** Between two actions: forming the batch, handing out results. */
  action: number;
  /** Gradients of one micro-batch: per pass, per token of its rows, and per thousand (token, visible token) pairs. */
  trainPass: number;
  trainToken: number;
  trainPairs: number;
  /** The optimizer's step with what makes its weights the policy. */
  optimizer: number;
}

/** Sizes of a device's steps. */
export interface DeviceLimits {
  maxSequences: number;
  prefillTokens: number;
  burst: number;
  /** Tokens of a page of the key-value cache: only whole pages are found again. */
  pageTokens: number;
  /** Tokens of a micro-batch of training, and the quanta its pass is cut into. */
  microBatchTokens: number;
  passQuanta: number;
}

/** One call: a prompt that extends what its rollout has, and a reply. */
export interface VirtualCall {
  readonly id: string;
  /** Tokens before the reply. */
  readonly promptTokens: number;
  readonly replyTokens: number;
  /** Prompt tokens whose keys and values are there under the weights of `version`; null: under none that can come back. */
  readonly cachedTokens: number;
  readonly version: number | null;
  /** What its prompt begins with, where others' prompts begin alike: the first computes it, the others wait for that. */
  readonly shared?: { readonly key: string; readonly tokens: number };
}

interface Flight {
  readonly call: VirtualCall;
  /** Tokens to compute before the next draw. */
  prefill: number;
  left: number;
  /** Weights under which others find what it computed; null when weights changed over it. */
  version: number | null;
}

/** Tokens of a call, reply included, whose keys and values are there. */
function computedOf({ call, prefill, left }: Flight): number {
  return call.promptTokens + call.replyTokens - left - prefill;
}

/** A pass over rows, or an optimizer step after it. */
type TrainingWork = { kind: "gradients"; quantaMs: number[]; done: () => void } | { kind: "step"; done: () => void };

/** Milliseconds by kind of work. */
export type BusyTime = Record<"prefill" | "decode" | "train" | "optimizer", number>;

/** A device that only costs time: it takes its actions from the same schedule as the engine, on a clock of its own. */
export class VirtualDevice {
  nowMs = 0;
  version = 0;
  readonly busyMs: BusyTime = { prefill: 0, decode: 0, train: 0, optimizer: 0 };
  /** Prompt tokens computed, and decode steps. */
  promptTokens = 0;
  decodeSteps = 0;
  private readonly costs: DeviceCosts;
  private readonly limits: DeviceLimits;
  private readonly policy: DevicePolicy;
  private readonly flights: Flight[] = [];
  private readonly held: VirtualCall[] = [];
  private readonly training: TrainingWork[] = [];
  private readonly ended: (call: VirtualCall, version: number | null) => void;
  /** Version under which a shared beginning was computed last. */
  private readonly beginnings = new Map<string, number>();
  private history: DeviceHistory = noHistory;

  /** `ended` is called with each call whose reply is complete, and the weights that its keys and values are kept under. */
  constructor(
    costs: DeviceCosts,
    limits: DeviceLimits,
    policy: DevicePolicy,
    ended: (call: VirtualCall, version: number | null) => void,
  ) {
    this.costs = costs;
    this.limits = limits;
    this.policy = policy;
    this.ended = ended;
  }

  /** A call arrives; it is held back while a draining update waits. */
  generate(call: VirtualCall): void {
    this.held.push(call);
    this.admit();
  }

  /** Gradients of micro-batches that take `passesMs` each; `done` is called when they are computed. */
  accumulate(passesMs: readonly number[], done: () => void): void {
    const { passQuanta } = this.limits;
    const quantaMs = passesMs.flatMap((ms) => new Array<number>(passQuanta).fill(ms / passQuanta));
    this.training.push({ kind: "gradients", quantaMs, done });
  }

  /** An optimizer step; `done` is called when its weights are the policy. */
  update(done: () => void): void {
    this.training.push({ kind: "step", done });
  }

  /** Takes one action and lets its time pass. False when there is nothing to do. */
  act(): boolean {
    const action = nextDeviceAction(this.demand(), this.history, this.policy);
    this.history = afterAction(this.history, action);
    if (action === "idle") return false;
    this.perform(action);
    this.nowMs += this.costs.action;
    this.admit();
    return true;
  }

  private get drains(): boolean {
    return this.policy.inFlight === "drain" && this.training.some(({ kind }) => kind === "step");
  }

  private admit(): void {
    if (this.drains) return;
    while (this.flights.length < this.limits.maxSequences) {
      const at = this.held.findIndex((call) => !this.follows(call));
      if (at < 0) return;
      this.flights.push(this.begin(this.held.splice(at, 1)[0] as VirtualCall));
    }
  }

  /** Its beginning is being computed for another. */
  private follows({ shared }: VirtualCall): boolean {
    if (shared === undefined || this.beginnings.get(shared.key) === this.version) return false;
    return this.flights.some((f) => f.call.shared?.key === shared.key && computedOf(f) < shared.tokens);
  }

  /** What is cached is known when a call begins: the weights may have changed while it was held. */
  private begin(call: VirtualCall): Flight {
    const { pageTokens } = this.limits;
    const { shared, promptTokens } = call;
    const own = call.version === this.version ? call.cachedTokens : 0;
    const others = shared !== undefined && this.beginnings.get(shared.key) === this.version ? shared.tokens : 0;
    // One token at least is computed, to draw the next from.
    const cached = Math.floor(Math.min(promptTokens - 1, Math.max(own, others)) / pageTokens) * pageTokens;
    return { call, prefill: promptTokens - cached, left: call.replyTokens, version: this.version };
  }

  private demand() {
    const [next] = this.training;
    // Under `drain` an update computes its gradients behind the barrier, as the engine does.
    const update = next?.kind === "step" || (next !== undefined && this.drains);
    return {
      prefill: this.flights.some((f) => f.prefill > 0),
      decode: this.flights.some((f) => f.prefill === 0),
      inFlight: this.flights.length,
      train: next?.kind === "gradients" && !update,
      update,
      score: false,
    };
  }

  private perform(action: Exclude<DeviceAction, "idle">): void {
    if (action === "prefill") this.prefill();
    else if (action === "decode") this.decode();
    else if (action === "train") this.train();
    else this.step();
  }

  private spend(kind: keyof BusyTime, ms: number): void {
    this.nowMs += ms;
    this.busyMs[kind] += ms;
  }

  private prefill(): void {
    let room = this.limits.prefillTokens;
    let pairs = 0;
    const through: Flight[] = [];
    for (const flight of this.flights) {
      if (flight.prefill === 0 || room === 0) continue;
      const taken = Math.min(room, flight.prefill);
      const { promptTokens, replyTokens } = flight.call;
      const length = promptTokens + replyTokens - flight.left;
      pairs += taken * (length - flight.prefill + taken / 2);
      room -= taken;
      flight.prefill -= taken;
      const { shared } = flight.call;
      if (shared !== undefined && computedOf(flight) >= shared.tokens) this.beginnings.set(shared.key, this.version);
      if (flight.prefill === 0) through.push(flight);
    }
    const { prefillStep, prefillToken, prefillPairs } = this.costs;
    const tokens = this.limits.prefillTokens - room;
    this.promptTokens += tokens;
    this.spend("prefill", prefillStep + prefillToken * tokens + (prefillPairs * pairs) / 1000);
    for (const flight of through) this.draw(flight, 1);
  }

  private decode(): void {
    const ready = this.flights.filter((f) => f.prefill === 0);
    const steps = Math.min(this.limits.burst, Math.max(...ready.map((f) => f.left)));
    const context = ready.reduce((n, { call, left }) => n + call.promptTokens + call.replyTokens - left, 0);
    this.decodeSteps += steps;
    const { decodeStep, decodeSequence, decodeContext } = this.costs;
    this.spend("decode", steps * (decodeStep + decodeSequence * ready.length + (decodeContext * context) / 1000));
    for (const flight of ready) this.draw(flight, steps);
  }

  private draw(flight: Flight, tokens: number): void {
    flight.left -= Math.min(tokens, flight.left);
    if (flight.left > 0) return;
    this.flights.splice(this.flights.indexOf(flight), 1);
    this.ended(flight.call, flight.version);
  }

  /** One quantum of the first pass. */
  private train(): void {
    const pass = this.training[0] as TrainingWork & { kind: "gradients" };
    this.spend("train", pass.quantaMs.shift() ?? 0);
    if (pass.quantaMs.length > 0) return;
    this.training.shift();
    pass.done();
  }

  private step(): void {
    while (this.training[0]?.kind === "gradients") this.train();
    const step = this.training.shift() as TrainingWork & { kind: "step" };
    this.spend("optimizer", this.costs.optimizer);
    this.version++;
    for (const flight of this.flights) {
      const { promptTokens, replyTokens } = flight.call;
      // What was computed is void but for sequences that keep it; these have drawn at least one token.
      const keeps = this.policy.inFlight === "keep" && flight.prefill === 0;
      flight.version = keeps ? null : this.version;
      if (!keeps) flight.prefill = promptTokens + replyTokens - flight.left;
    }
    step.done();
  }
}
