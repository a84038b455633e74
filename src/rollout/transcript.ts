import { earnedBy } from "../schema/earned.ts";
import type { TranscriptCall } from "../schema/grader.ts";
import type { FailedCall } from "../schema/rollout_client.ts";
import { type EventCreate, eventTypes, type RolloutEvent } from "../schema/wire.ts";
import type { ModelRequestData } from "../schema/wire_proxy.ts";

type Json = Record<string, unknown>;

function asObject(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function toolCallsOf(message: Json): { name: string; arguments: string }[] {
  return asList(message.tool_calls).map((call) => {
    const { name, arguments: text } = asObject(asObject(call).function);
    return { name: String(name ?? ""), arguments: String(text ?? "") };
  });
}

type Said = Pick<TranscriptCall, "text" | "toolCalls">;

/** The first choice of a chat completion or a completion. */
function saidInChoice(choice: Json): Said {
  const message = asObject(choice.message);
  const text = choice.message === undefined ? choice.text : message.content;
  return { text: typeof text === "string" ? text : null, toolCalls: toolCallsOf(message) };
}

/** The content blocks of an Anthropic message. */
function saidInBlocks(blocks: readonly Json[]): Said {
  const texts = blocks.filter((block) => block.type === "text").map((block) => String(block.text ?? ""));
  const calls = blocks.filter((block) => block.type === "tool_use");
  return {
    text: texts.length === 0 ? null : texts.join("\n"),
    toolCalls: calls.map(({ name, input, partial_json: sampled }) => ({
      name: String(name ?? ""),
      arguments: typeof sampled === "string" ? sampled : JSON.stringify(input ?? {}),
    })),
  };
}

function saidIn(response: Json): Said {
  if (Array.isArray(response.content)) return saidInBlocks(response.content.map(asObject));
  return saidInChoice(asObject(asList(response.choices)[0]));
}

function toCall(event: RolloutEvent): TranscriptCall {
  const data = event.data as unknown as Partial<ModelRequestData>;
  return {
    request: asObject(data.request),
    ...saidIn(asObject(data.response)),
    ok: data.status !== "error",
    httpStatus: typeof data.http_status === "number" ? data.http_status : 200,
  };
}

/** The attempt's calls in order, failed ones included. */
export function transcript(events: readonly RolloutEvent[]): TranscriptCall[] {
  return events.filter((event) => event.event_type === eventTypes.modelRequest).map(toCall);
}

/** Text of the last successful reply: the agent's final message; null when it was only tool calls or there is none. */
export function finalMessage(calls: readonly TranscriptCall[]): string | null {
  return calls.findLast((call) => call.ok)?.text ?? null;
}

/** HTTP status of the attempt's last call, failed ones included; null when it made none. */
export function lastCallStatus(events: readonly RolloutEvent[], failed: readonly FailedCall[]): number | null {
  const recorded = events.findLast((event) => event.event_type === eventTypes.modelRequest);
  const lost = failed.at(-1);
  if (recorded === undefined || (lost !== undefined && lost.timestamp > recorded.timestamp)) {
    return lost?.httpStatus ?? null;
  }
  return toCall(recorded).httpStatus;
}

/** The reward that an attempt's events give its rollout, as the trainer reads them; null when there is none. */
export function postedReward(events: readonly EventCreate[]): number | null {
  const ids = events.flatMap(({ event_type, data }) =>
    event_type === eventTypes.modelRequest && typeof data?.call_id === "string" ? [data.call_id] : [],
  );
  return earnedBy(events, ids).reward;
}
