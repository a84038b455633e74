/**
 * Calls of dialects that endpoints do not speak. They are sent as chat completions, which every server of models takes,
 * and their replies are written in the harness's dialect as those of an own model are.
 */
import { type ChatMessage, chatMessageSchema } from "../../src/schema/chat.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import type { ModelEndpoint } from "../../src/schema/wire_proxy.ts";
import { splitReasoning } from "../../src/text/reasoning.ts";
import type { Answer, Dialect, JsonObject, ModelCall, Reply } from "../dialects/dialect.ts";
import { resolvedCall } from "../dialects/resolve_call.ts";
import { ApiError } from "../http/errors.ts";
import { type Answered, unwatched } from "./answered.ts";
import { Attempt } from "./attempt.ts";
import { type ForeignCall, type ForeignModel, siblings, tokensOf } from "./foreign_model.ts";
import type { Owner } from "./own_model.ts";
import type { Recorder } from "./recorder.ts";
import { rewrittenBody, type SamplingDecision } from "./sampling_policy.ts";

function choiceField({ choice, parallelCalls, format }: ModelCall["form"], hasTools: boolean): JsonObject {
  const [only, ...others] = choice.names ?? [];
  const named = only !== undefined && others.length === 0 ? { type: "function", function: { name: only } } : "required";
  return {
    ...(hasTools && choice.mode === "required" ? { tool_choice: named } : {}),
    ...(hasTools && !parallelCalls ? { parallel_tool_calls: false } : {}),
    ...(format.kind === "json_object" ? { response_format: { type: "json_object" } } : {}),
    ...(format.kind === "json_schema"
      ? { response_format: { type: "json_schema", json_schema: { name: "reply", schema: format.schema } } }
      : {}),
  };
}

/** Messages without what only the gateway reads. */
function sentMessages(messages: readonly ChatMessage[]): JsonObject[] {
  return messages.map(({ recorded_call: _, ...message }) => ({ ...message }));
}

/** The call as the body of a chat completion. */
export function chatBody(call: ModelCall, model: string, { sampling, adjustments }: SamplingDecision): JsonObject {
  const { messages, tools } = call.chat;
  const { temperature, topP, topK, minP } = sampling;
  const { frequencyPenalty, presencePenalty } = adjustments;
  return {
    model,
    messages: sentMessages(messages),
    ...(tools ? { tools } : {}),
    ...choiceField(call.form, tools !== null && tools !== undefined),
    ...(call.sampling.temperature === undefined ? {} : { temperature }),
    ...(topP === 1 ? {} : { top_p: topP }),
    ...(topK === 0 ? {} : { top_k: topK }),
    ...(minP === 0 ? {} : { min_p: minP }),
    ...(frequencyPenalty === undefined ? {} : { frequency_penalty: frequencyPenalty }),
    ...(presencePenalty === undefined ? {} : { presence_penalty: presencePenalty }),
    ...(call.maxTokens === null ? {} : { max_tokens: call.maxTokens }),
    ...(call.stop.length === 0 ? {} : { stop: call.stop }),
    ...(call.n === 1 ? {} : { n: call.n }),
  };
}

interface ChoiceJson {
  message?: unknown;
  finish_reason?: unknown;
  stop_reason?: unknown;
}

interface UsageJson {
  prompt_tokens?: unknown;
  completion_tokens?: unknown;
  prompt_tokens_details?: { cached_tokens?: unknown } | null;
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

/** An endpoint's chat completion of one choice as a reply in common terms. @throws ApiError 502 when it is none */
export function replyOf(json: unknown, version: number): Reply {
  const { choices, usage } = (json ?? {}) as { choices?: ChoiceJson[]; usage?: UsageJson | null };
  const choice = Array.isArray(choices) ? choices[0] : undefined;
  const read = chatMessageSchema.safeParse(choice?.message);
  if (!read.success) {
    throw new ApiError(502, "upstream_malformed", "The model server's reply is no chat completion.");
  }
  const { content, reasoning_content: given, tool_calls: calls } = read.data;
  const text = typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("");
  const split = splitReasoning(text, false);
  const toolCalls = (calls ?? []).map((call) => ({ id: call.id, type: call.type, function: call.function }));
  const said = given ? text : split.rest;
  const tokens = tokensOf(json, version);
  return {
    tokens,
    parsed: {
      content: said === "" && toolCalls.length > 0 ? null : said,
      reasoningContent: given ?? split.reasoning,
      toolCalls: toolCalls.map(({ function: { name, arguments: args } }) => ({ name, arguments: args })),
      text,
      stopId: null,
    },
    toolCalls,
    finishReason: choice?.finish_reason === "length" ? "length" : "stop",
    stopString: typeof choice?.stop_reason === "string" ? choice.stop_reason : null,
    cachedTokens: count(usage?.prompt_tokens_details?.cached_tokens),
    promptTokens: count(usage?.prompt_tokens),
    completionTokens: count(usage?.completion_tokens),
    constrained: true,
  };
}

/** An endpoint's error in the harness's dialect. */
function refusalOf(status: number, body: unknown): ApiError {
  const said = (body as { error?: { message?: unknown; code?: unknown } | string; message?: unknown } | null) ?? {};
  const error = typeof said.error === "object" ? said.error : { message: said.error ?? said.message, code: null };
  const message = typeof error?.message === "string" ? error.message : `The model server answered with ${status}.`;
  return new ApiError(status, typeof error?.code === "string" ? error.code : "upstream_refused", message);
}

/** What a translated call goes through. */
export interface TranslatedDeps {
  foreign: ForeignModel;
  recorder: Recorder;
}

/** Answers a call of any dialect by an endpoint. @throws UpstreamError, CancelledError, ApiError */
export async function answerTranslated(
  { foreign, recorder }: TranslatedDeps,
  endpoint: ModelEndpoint,
  dialect: Dialect,
  asked: ModelCall,
  owner: Owner | null,
  { decision, extra }: { decision: SamplingDecision; extra: JsonObject },
  signal: AbortSignal,
): Promise<Answered> {
  const call = resolvedCall(dialect, asked, owner?.attempt ?? new Attempt());
  const body = { ...chatBody(call, endpoint.model, decision), ...extra };
  const { overridden } = decision;
  const sampling = { ...decision.sampling, ...decision.adjustments };
  const sent: ForeignCall = { dialect: dialect.name, path: "chat/completions", body, sampling, overridden };
  const answer = await foreign.ask(endpoint, sent, signal);
  if (answer.status >= 400) {
    const refused = await foreign.refused(endpoint, sent, answer, owner);
    return { ...refused, json: dialect.error(refusalOf(answer.status, answer.body)) };
  }
  const choices = siblings(answer.body);
  const ids = choices.map(() => foreign.newId());
  const whole: Answer = {
    id: ids[0] ?? "",
    created: Math.floor(recorder.now()),
    model: endpoint.model,
    replies: choices.map((choice) => replyOf(choice, endpoint.version)),
    tokenText: () => "",
    tokenBytes: () => new Uint8Array(),
    showTokenIds: false,
  };
  const json = dialect.write(whole, call);
  if (!owner) return { status: 200, json, watch: unwatched };
  const request = rewrittenBody(call, endpoint.model, decision);
  const records = whole.replies.map((reply, at): CallRecord => {
    const response = dialect.write({ ...whole, id: ids[at] ?? "", replies: [reply] }, call);
    const facts = { id: ids[at] ?? "", request, response, finishReason: dialect.finishReason(response) };
    return foreign.record(endpoint, sent, owner, answer, facts, choices[at]);
  });
  await recorder.record(records);
  for (const { id, policy, response, tokens } of records) {
    const reply = dialect.replyMessage(response);
    const where = { prompt: null, parent: null, prefixLength: 0 };
    owner.attempt.remember({
      id,
      policy,
      call,
      reply,
      ...where,
      ...tokens,
      isReferable: dialect.resolve !== undefined,
    });
  }
  return { status: 200, json, watch: recorder.watch(records, owner.attempt) };
}
