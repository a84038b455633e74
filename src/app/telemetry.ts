import { context, type Span, type SpanStatus, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { version } from "../core/version.ts";
import type { MetricsLine } from "../experiment/run_folder.ts";
import { earnedBy } from "../schema/earned.ts";
import { isTerminal } from "../schema/rollout.ts";
import type { CallRecord, Store } from "../schema/store.ts";
import { eventTypes, type Rollout } from "../schema/wire.ts";

/** Where spans go and what they are made of. */
export interface TelemetryOptions {
  /** Base address of an OTLP/HTTP collector; empty takes OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  readonly store: Store;
  /** Tells a person one line. */
  say(line: string): void;
  /** In place of the exporter, for tests. */
  readonly exporter?: SpanExporter;
}

const logPage = 1000;
/** Spans that wait to be sent; a long run has bursts of finished rollouts. */
const queuedSpans = 65_536;
const ok: SpanStatus = { code: SpanStatusCode.OK };

/**
 * OpenTelemetry spans of a run, read off its store when a rollout has ended: one trace per rollout with a span per model
 * call, under the names of the GenAI conventions, and one span per update. Neither agents nor gateway know of it.
 */
export class Telemetry {
  private readonly options: TelemetryOptions;
  private readonly exporter: ReportingExporter;
  private readonly provider: TracerProvider;
  private readonly tracer: Tracer;
  private readonly stop = new AbortController();
  private readonly startedAt = new Map<string, number>();
  private readonly ended = new Set<string>();
  private readonly following: Promise<void>;

  private constructor(options: TelemetryOptions, seq: number) {
    this.options = options;
    this.exporter = new ReportingExporter(options.exporter ?? otlpExporter(options.endpoint), options.say);
    const processor = new BatchSpanProcessor({ exporter: this.exporter, maxQueueSize: queuedSpans });
    this.provider = new TracerProvider({ spanProcessors: [processor] });
    this.tracer = this.provider.getTracer("leyden", version);
    this.following = this.follow(seq);
  }

  /** Follows a store from now on. */
  static async open(options: TelemetryOptions): Promise<Telemetry> {
    return new Telemetry(options, await options.store.seq());
  }

  /** A span for a finished update; every number of its line is an attribute. */
  update(line: MetricsLine): void {
    const end = Number(line.time);
    const span = this.tracer.startSpan(`update ${line.step}`, {
      startTime: milliseconds(end - Number(line["timing_s/step"] ?? 0)),
      root: true,
      attributes: Object.fromEntries(
        Object.entries(line).flatMap(([name, value]) => (value === null ? [] : [[`leyden.${name}`, value]])),
      ),
    });
    span.setStatus(line["training/skipped"] === null ? ok : failed(String(line["training/skipped"])));
    span.end(milliseconds(end));
  }

  /** Sends what is left. The store must still be open. */
  async close(): Promise<void> {
    this.stop.abort();
    await this.following;
    // What fails here was told by the exporter.
    await this.provider.shutdown().catch(() => undefined);
    if (this.exporter.lost > 0) this.options.say(`telemetry: ${this.exporter.lost} spans were lost.`);
  }

  private async follow(from: number): Promise<void> {
    const { store, say } = this.options;
    let seq = from;
    try {
      for (;;) {
        const entries = await store.log(seq, logPage);
        for (const entry of entries) {
          seq = entry.seq;
          if (entry.type === "rollout_patched") await this.patched(entry.rolloutId, entry.at);
        }
        if (entries.length === logPage) continue;
        if (this.stop.signal.aborted) return;
        await store.changed(seq, this.stop.signal).catch(() => undefined);
      }
    } catch (thrown) {
      say(`telemetry: rollouts are no longer traced: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  }

  /** The first patch of a rollout is its start; it has ended once it is final and nothing newer is to be read. */
  private async patched(id: string, at: number): Promise<void> {
    if (this.ended.has(id)) return;
    const from = this.startedAt.get(id) ?? at;
    this.startedAt.set(id, from);
    const rollout = await this.options.store.rollout(id);
    if (rollout === null || !isTerminal(rollout.status.state) || at < rollout.status.updated_at) return;
    this.ended.add(id);
    this.startedAt.delete(id);
    await this.rollout(rollout, from, at);
  }

  private async rollout(rollout: Rollout, from: number, to: number): Promise<void> {
    const { store } = this.options;
    const { rollout_id: id, status, metadata, is_train: isTrain } = rollout;
    const attempt = status.last_attempt_id ?? "0";
    const calls = await store.calls(id, attempt);
    const { reward } = earnedBy(
      await store.events(id, attempt, eventTypes.reward),
      calls.map((call) => call.id),
    );
    const span = this.tracer.startSpan("invoke_agent", {
      startTime: milliseconds(from),
      root: true,
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "leyden",
        "gen_ai.conversation.id": id,
        "leyden.rollout.attempt": attempt,
        "leyden.rollout.mode": isTrain ? "train" : "val",
        "leyden.rollout.task": String(metadata.task ?? ""),
        "leyden.rollout.group": String(metadata.group ?? ""),
        ...(reward === null ? {} : { "leyden.rollout.reward": reward }),
      },
    });
    for (const call of await store.calls(id)) this.call(span, call);
    span.setStatus(status.state === "succeeded" ? ok : failed(status.error_message ?? ""));
    span.end(milliseconds(to));
  }

  private call(parent: Span, call: CallRecord): void {
    const { temperature, topP, maxTokens } = call.sampling;
    const asked = { temperature, top_p: topP, max_tokens: maxTokens };
    const settings = Object.entries(asked).filter((pair): pair is [string, number] => typeof pair[1] === "number");
    const span = this.tracer.startSpan(
      `chat ${call.policy}`,
      {
        startTime: milliseconds(call.timestamp) - call.latencyMs,
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.provider.name": call.own ? "leyden" : "upstream",
          "gen_ai.conversation.id": call.rolloutId,
          "gen_ai.request.model": call.policy,
          "gen_ai.response.model": call.server.model,
          "gen_ai.response.id": call.id,
          "gen_ai.response.finish_reasons": call.finishReason === null ? [] : [call.finishReason],
          "gen_ai.usage.input_tokens": call.tokens.promptIds.length,
          "gen_ai.usage.output_tokens": call.tokens.replyIds.length,
          ...Object.fromEntries(settings.map(([name, value]) => [`gen_ai.request.${name}`, value])),
          "http.response.status_code": call.httpStatus,
          "leyden.call.dialect": call.dialect,
          "leyden.call.break": call.breakReason ?? "none",
          "leyden.call.versions": [...new Set(call.tokens.versions)],
        },
      },
      trace.setSpan(context.active(), parent),
    );
    span.setStatus(call.httpStatus < 400 ? ok : failed(`HTTP ${call.httpStatus}`));
    span.end(milliseconds(call.timestamp));
  }
}

/** Counts spans that could not be sent, and says so once. */
class ReportingExporter implements SpanExporter {
  private readonly exporter: SpanExporter;
  private readonly say: (line: string) => void;
  lost = 0;

  constructor(exporter: SpanExporter, say: (line: string) => void) {
    this.exporter = exporter;
    this.say = say;
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter["export"]>[1]): void {
    this.exporter.export(spans, (result) => {
      if (result.code !== 0) {
        if (this.lost === 0)
          this.say(`telemetry: spans could not be sent: ${result.error?.message ?? "no reason given"}`);
        this.lost += spans.length;
      }
      done(result);
    });
  }

  forceFlush(): Promise<void> {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }
}

function otlpExporter(endpoint: string): SpanExporter {
  return new OTLPTraceExporter(endpoint === "" ? {} : { url: `${endpoint.replace(/\/+$/, "")}/v1/traces` });
}

function milliseconds(seconds: number): number {
  return seconds * 1000;
}

function failed(message: string): SpanStatus {
  return { code: SpanStatusCode.ERROR, message };
}
