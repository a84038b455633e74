import type { Clock } from "../core/clock.ts";
import { LeydenError } from "../core/errors.ts";
import { threefry2x32 } from "../core/rng.ts";
import type { Engine, EngineInfo, EngineStats, GenerateRequest, GenerateResult } from "../schema/engine.ts";
import { checkGenerate, closedError } from "./admission.ts";
import { DeviceTimes } from "./device_times.ts";

/** What a NullEngine draws from. */
export interface NullEngineOptions {
  readonly clock: Clock;
  readonly vocabSize: number;
  readonly contextLength: number;
  /** The ids it draws, each as likely; at least one. */
  readonly ids: Int32Array;
  /** Ends a reply; undefined for a tokenizer that knows no end. */
  readonly stopId: number | undefined;
  /** Length of a reply in tokens, its end included. */
  readonly replyTokens: number;
}

/**
 * An engine without model and device, for load and fuzz: every reply has the same length, its ids come from the call's
 * random stream, and every logprob is -log(vocabulary). Settings of sampling and stop texts are checked, not followed.
 */
export class NullEngine implements Engine {
  private readonly options: NullEngineOptions;
  private readonly facts: Omit<EngineInfo, "version">;
  private readonly times: DeviceTimes;
  private readonly logprob: number;
  private readonly counters = { promptTokens: 0, sampledTokens: 0 };
  private closed = false;

  constructor(options: NullEngineOptions) {
    const { clock, vocabSize, contextLength } = options;
    this.options = options;
    this.times = new DeviceTimes(clock);
    this.logprob = -Math.log(vocabSize);
    this.facts = {
      adapter: "none",
      deviceClass: "software",
      family: "null",
      parameters: 0,
      vocabSize,
      contextLength,
      microBatchTokens: 0,
    };
  }

  async info(): Promise<EngineInfo> {
    return { ...this.facts, version: 0 };
  }

  async timeline(after: number): ReturnType<NonNullable<Engine["timeline"]>> {
    return this.times.timeline(after);
  }

  async stats(): Promise<EngineStats> {
    const idle = { cachedTokens: 0, decodeSteps: 0, activeSequences: 0, queuedSequences: 0, deviceLosses: 0 };
    return { deviceSeconds: this.times.seconds(), ...this.counters, ...idle };
  }

  async generate(request: GenerateRequest): Promise<GenerateResult> {
    if (this.closed) throw closedError();
    checkGenerate(request, this.facts);
    const ids = this.draw(request);
    const ended = this.options.stopId !== undefined && ids.at(-1) === this.options.stopId;
    this.counters.promptTokens += request.promptIds.length;
    this.counters.sampledTokens += ids.length;
    return {
      id: request.id,
      ids,
      logprobs: new Float32Array(ids.length).fill(this.logprob),
      versions: new Int32Array(ids.length),
      finishReason: ended ? "stop" : "length",
      ...(ended ? { stopped: this.options.stopId } : {}),
      cachedTokens: 0,
      truncated: false,
    };
  }

  score: Engine["score"] = noModel;
  scoreRows: Engine["scoreRows"] = noModel;
  accumulate: Engine["accumulate"] = noModel;
  update: Engine["update"] = noModel;
  updateCritic: Engine["updateCritic"] = noModel;
  snapshot: Engine["snapshot"] = noModel;

  async drain(): Promise<void> {}
  async resume(): Promise<void> {}
  async cancel(): Promise<void> {}

  async close(): Promise<void> {
    this.closed = true;
  }

  /** Draw n of a call uses counter n under its key, as on the device. */
  private draw({ maxTokens, promptIds, key }: GenerateRequest): Int32Array {
    const { ids, stopId, replyTokens, contextLength } = this.options;
    const room = Math.min(maxTokens, contextLength + 1 - promptIds.length);
    const drawn = Int32Array.from({ length: Math.min(replyTokens, room) }, (_, n) => {
      const [word] = threefry2x32(key, [n, 0]);
      return ids[word % ids.length] as number;
    });
    if (stopId !== undefined && room >= replyTokens) drawn[replyTokens - 1] = stopId;
    return drawn;
  }
}

async function noModel(): Promise<never> {
  throw new LeydenError("engine_read_only", "The null policy has no model to score with or to train.", {
    do: "Serve a model: --policy model.",
  });
}
