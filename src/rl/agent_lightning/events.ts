import { type Call, idsKey } from "../call.ts";

/** An event as Agent Lightning's protocol stores it; `data` may hold anything. */
export interface RawEvent {
  event_type: string;
  data: unknown;
}

/** A recorded call read off a model_request event, errors and empty answers included. */
export interface RequestCall extends Call {
  /** Position of the event. */
  event: number;
  failed: boolean;
}

type Json = Record<string, unknown>;

function asObject(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function asIds(value: unknown): number[] {
  return Array.isArray(value) && value.every((id) => Number.isInteger(id)) ? (value as number[]) : [];
}

function firstChoice(response: Json): Json {
  return Array.isArray(response.choices) ? asObject(response.choices[0]) : {};
}

/** Chat form `content[].logprob`, completions form `token_logprobs`; null when any value is not a finite number. */
function choiceLogprobs(choice: Json): number[] | null {
  const logprobs = asObject(choice.logprobs);
  const values = Array.isArray(logprobs.content)
    ? logprobs.content.map((item) => asObject(item).logprob)
    : logprobs.token_logprobs;
  if (!Array.isArray(values)) return null;
  return values.every((value) => typeof value === "number" && Number.isFinite(value)) ? values : null;
}

/** Prompt ids at the top level (chat) or in the choice (completions); a list of stream chunks is joined. */
function tokensOf(response: unknown): Pick<Call, "promptIds" | "replyIds" | "logprobs"> {
  if (Array.isArray(response)) {
    const chunks = response.map(asObject);
    return {
      promptIds: chunks.map((chunk) => asIds(chunk.prompt_token_ids)).find((ids) => ids.length > 0) ?? [],
      replyIds: chunks.flatMap((chunk) => asIds(firstChoice(chunk).token_ids)),
      logprobs: null,
    };
  }
  const body = asObject(response);
  const choice = firstChoice(body);
  const prompt = asIds(body.prompt_token_ids);
  return {
    promptIds: prompt.length > 0 ? prompt : asIds(choice.prompt_token_ids),
    replyIds: asIds(choice.token_ids),
    logprobs: choiceLogprobs(choice),
  };
}

function requestCall(event: RawEvent, index: number, attempt: string): RequestCall {
  const data = asObject(event.data);
  const status = data.http_status;
  const failed = data.status === "error" || (Number.isInteger(status) && (status as number) >= 400);
  return { id: String(index), attempt, event: index, failed, versions: null, ...tokensOf(data.response) };
}

/**
 * The last of the calls with identical prompts, at its own place. This folds a client's retries, and also parallel
 * samples of one prompt: Agent Lightning's views do it, the trie never does.
 */
export function lastOfEachPrompt<T extends Call>(calls: readonly T[]): T[] {
  const last = new Map<string, T>();
  for (const call of calls) last.set(idsKey(call.promptIds), call);
  const kept = new Set<T>(last.values());
  return calls.filter((call) => kept.has(call));
}

/** Calls of model_request events in order, failed and empty ones included. */
export function requestCalls(events: readonly RawEvent[], attempt = "0"): RequestCall[] {
  return events.flatMap((event, i) => (event.event_type === "model_request" ? [requestCall(event, i, attempt)] : []));
}

/**
 * The calls that Agent Lightning trains on: the last of each prompt, then without errors and empty answers (in this
 * order, so that an empty retry hides the good answer before it).
 */
export function usableCalls(events: readonly RawEvent[], attempt = "0"): RequestCall[] {
  return lastOfEachPrompt(requestCalls(events, attempt)).filter((call) => !call.failed && call.replyIds.length > 0);
}

/** Value of the last reward event; null when there is none or it is not a number (an earlier one is not used). */
export function finalReward(events: readonly RawEvent[]): number | null {
  const last = events.findLast((event) => event.event_type === "reward");
  const value = last === undefined ? null : asObject(last.data).value;
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
