// Plan: spans of a rollout and its calls under the GenAI names, times and parents; failures; an update; spans that could
// not be sent are counted; a real export over HTTP arrives as OTLP JSON.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { InMemorySpanExporter, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace";
import { describe, expect, it } from "vitest";
import { Telemetry } from "../../src/app/telemetry.ts";
import type { StoreEvent } from "../../src/schema/store.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { call as sampleCall, rollout as sampleRollout } from "../store/samples.ts";

const sampling = { temperature: 0.5, maxTokens: 9 };

/** A rollout that runs from 10 s to 20 s with two calls. */
function eventsOf(id: string, state: "succeeded" | "failed"): StoreEvent[] {
  const call = (name: string, timestamp: number): StoreEvent => ({
    type: "call_recorded",
    call: sampleCall(name, id, [1, 2, 3], [4, 5], { timestamp, latencyMs: 1500, sampling }),
  });
  const patch = (at: number, to: "running" | "succeeded" | "failed", more = {}): StoreEvent => ({
    type: "rollout_patched",
    rolloutId: id,
    patch: { state: to, last_attempt_id: "0", ...more },
    at,
  });
  const reward = { event_type: "reward", rollout_id: id, attempt_id: "0", timestamp: 19, data: { value: 0.75 } };
  return [
    { type: "rollout_created", rollout: sampleRollout(id) },
    patch(10, "running"),
    call(`${id}-a`, 12),
    call(`${id}-b`, 15),
    { type: "event_posted", event: reward },
    patch(20, state, state === "failed" ? { error_message: "agent_exit: code 3" } : {}),
  ];
}

/** Everything the exporter got: it forgets its spans when it is shut down. */
class KeepingExporter extends InMemorySpanExporter {
  readonly kept: ReadableSpan[] = [];

  override async shutdown(): Promise<void> {
    this.kept.push(...this.getFinishedSpans());
    return super.shutdown();
  }
}

const seconds = ([s, ns]: readonly [number, number]): number => s + ns / 1e9;

describe("Telemetry", () => {
  it("traces a finished rollout with its calls", async () => {
    const store = new MemoryStore();
    const exporter = new KeepingExporter();
    const telemetry = await Telemetry.open({ endpoint: "", store, exporter, say: () => undefined });
    await store.append(eventsOf("r1", "succeeded"));
    await store.append(eventsOf("r2", "failed"));
    await telemetry.close();
    const spans = exporter.kept;
    const rollouts = spans.filter((s) => s.name === "invoke_agent");
    expect(rollouts.map((s) => s.attributes["gen_ai.conversation.id"])).toEqual(["r1", "r2"]);
    const [good, bad] = rollouts as [ReadableSpan, ReadableSpan];
    expect([seconds(good.startTime), seconds(good.endTime)]).toEqual([10, 20]);
    expect(good.attributes).toMatchObject({ "gen_ai.operation.name": "invoke_agent", "leyden.rollout.reward": 0.75 });
    expect(good.status.code).toBe(1);
    expect(bad.status).toEqual({ code: 2, message: "agent_exit: code 3" });
    const calls = spans.filter((s) => s.name.startsWith("chat ") && s.attributes["gen_ai.conversation.id"] === "r1");
    expect(calls).toHaveLength(2);
    const [first] = calls as [ReadableSpan];
    expect(first.parentSpanContext?.spanId).toBe(good.spanContext().spanId);
    expect(first.spanContext().traceId).toBe(good.spanContext().traceId);
    expect([seconds(first.startTime), seconds(first.endTime)]).toEqual([10.5, 12]);
    expect(first.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "leyden",
      "gen_ai.response.id": "r1-a",
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.output_tokens": 2,
      "gen_ai.request.temperature": 0.5,
      "gen_ai.request.max_tokens": 9,
    });
    expect(bad.spanContext().traceId).not.toBe(good.spanContext().traceId);
    await store.close();
  });

  it("traces updates, skipped ones as errors", async () => {
    const store = new MemoryStore();
    const exporter = new KeepingExporter();
    const telemetry = await Telemetry.open({ endpoint: "", store, exporter, say: () => undefined });
    const line = { step: 3, time: 100, "timing_s/step": 4, "training/reward": 0.5, "training/skipped": null };
    telemetry.update(line);
    telemetry.update({ ...line, step: 4, "training/skipped": "nan_gradient" });
    await telemetry.close();
    expect(exporter.kept.map((s) => [s.name, s.status.code])).toEqual([
      ["update 3", 1],
      ["update 4", 2],
    ]);
    const [span] = exporter.kept as [ReadableSpan];
    expect([seconds(span.startTime), seconds(span.endTime)]).toEqual([96, 100]);
    expect(span.attributes).toMatchObject({ "leyden.step": 3, "leyden.training/reward": 0.5 });
    await store.close();
  });

  it("says that spans could not be sent, and how many", async () => {
    const store = new MemoryStore();
    const said: string[] = [];
    const exporter: SpanExporter = {
      export: (_, done) => done({ code: 1, error: new Error("no collector") }),
      shutdown: async () => undefined,
    };
    const telemetry = await Telemetry.open({ endpoint: "", store, exporter, say: (line) => said.push(line) });
    telemetry.update({ step: 1, time: 1, "training/skipped": null });
    await telemetry.close();
    expect(said).toEqual(["telemetry: spans could not be sent: no collector", "telemetry: 1 spans were lost."]);
    await store.close();
  });

  it("sends OTLP to the collector's address", async () => {
    const got: { path: string; body: string }[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on("end", () => {
        got.push({ path: request.url ?? "", body });
        response.setHeader("content-type", "application/json").end("{}");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const store = new MemoryStore();
    const telemetry = await Telemetry.open({ endpoint: `http://127.0.0.1:${port}/`, store, say: () => undefined });
    telemetry.update({ step: 7, time: 1, "training/skipped": null });
    await telemetry.close();
    server.close();
    expect(got.map(({ path }) => path)).toEqual(["/v1/traces"]);
    const sent = JSON.parse(got[0]?.body ?? "{}") as {
      resourceSpans: { scopeSpans: { spans: { name: string }[] }[] }[];
    };
    expect(sent.resourceSpans[0]?.scopeSpans[0]?.spans[0]?.name).toBe("update 7");
    await store.close();
  });
});
