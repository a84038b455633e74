/**
 * Agent Lightning's short form of an attempt's events: of a call only token ids, logprobs and the server, of a reward
 * only its value; and of calls with one prompt only the last. Calls without prompt ids cannot be told apart by them and
 * all stay, as in Agent Lightning from 1.0.2 on.
 */
import { eventTypes, type RolloutEvent } from "../../src/schema/wire.ts";

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function firstChoice(response: Json): Json | null {
  const choice: unknown = Array.isArray(response.choices) ? response.choices[0] : null;
  return isObject(choice) ? choice : null;
}

/** Python's idea of a number: what converts to a finite float. */
function toFinite(value: unknown): number | null {
  if (typeof value === "boolean") return Number(value);
  const isText = typeof value === "string" && value.trim() !== "";
  const number = typeof value === "number" || isText ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : null;
}

/** The log-probabilities of a choice, or null when any of them is missing or not finite. */
function logProbsOf(choice: Json | null): number[] | null {
  const logprobs = choice?.logprobs;
  if (!isObject(logprobs)) return null;
  let values: unknown[];
  if (Array.isArray(logprobs.content)) {
    values = logprobs.content.map((item: unknown) => (isObject(item) ? item.logprob : undefined));
  } else if (Array.isArray(logprobs.token_logprobs)) values = logprobs.token_logprobs;
  else return null;
  const numbers = values.map(toFinite);
  return numbers.includes(null) ? null : (numbers as number[]);
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
}

/** What a reply says of its tokens. */
export interface ReportedTokens {
  prompt_token_ids: unknown;
  response_token_ids: unknown;
  response_log_probs: number[] | null;
}

function tokensOfChunks(chunks: readonly unknown[]): ReportedTokens {
  const objects = chunks.filter(isObject);
  const prompt = objects.map((chunk) => chunk.prompt_token_ids).find((ids) => !isEmpty(ids)) ?? [];
  const reply = objects.flatMap((chunk) => {
    const ids = firstChoice(chunk)?.token_ids;
    return Array.isArray(ids) ? (ids as unknown[]) : [];
  });
  return { prompt_token_ids: prompt, response_token_ids: reply, response_log_probs: null };
}

/** Token ids and logprobs of a model's reply, wherever servers put them; lists of another kind pass through. */
export function tokensOfResponse(response: unknown): ReportedTokens {
  if (Array.isArray(response)) return tokensOfChunks(response);
  if (!isObject(response)) return { prompt_token_ids: [], response_token_ids: [], response_log_probs: null };
  const choice = firstChoice(response);
  // Present but null passes through as null; absent is an empty list.
  let prompt = response.prompt_token_ids === undefined ? [] : response.prompt_token_ids;
  if (choice && isEmpty(prompt) && choice.prompt_token_ids !== undefined) prompt = choice.prompt_token_ids;
  const reply = choice?.token_ids === undefined ? [] : choice.token_ids;
  return { prompt_token_ids: prompt, response_token_ids: reply, response_log_probs: logProbsOf(choice) };
}

function pick(data: Json, names: readonly string[]): Json {
  return Object.fromEntries(names.filter((name) => name in data).map((name) => [name, data[name]]));
}

function trimmedCall(data: Json): Json {
  const { response } = data;
  const server = isObject(data.server) ? data.server : {};
  return {
    ...tokensOfResponse(response),
    server: { model: server.model ?? null, version: server.version ?? null },
    ...pick(data, ["http_status", "status"]),
    ...(isObject(response) && "error" in response ? { error: response.error } : {}),
  };
}

function trimmed(event: RolloutEvent): RolloutEvent {
  const { data } = event;
  if (event.event_type === eventTypes.modelRequest) return { ...event, data: trimmedCall(data) };
  if (event.event_type !== eventTypes.reward) return event;
  return { ...event, data: { value: data.value ?? null, ...pick(data, ["source", "reason"]) } };
}

/** Names a call's prompt; null for a call without prompt ids, and for what is no call. */
function promptOf({ event_type: type, data }: RolloutEvent): string | null {
  const ids = data.prompt_token_ids;
  if (type !== eventTypes.modelRequest || !Array.isArray(ids) || ids.length === 0) return null;
  return JSON.stringify(ids);
}

/** Events in short form; calls whose reply the harness never got are left out. */
export function triplets(events: readonly RolloutEvent[]): RolloutEvent[] {
  const kept = events.filter((event) => event.data.delivery !== "abandoned").map(trimmed);
  const lastOfPrompt = new Map(kept.map((event) => [promptOf(event), event]));
  return kept.filter((event) => {
    const prompt = promptOf(event);
    return prompt === null || lastOfPrompt.get(prompt) === event;
  });
}
