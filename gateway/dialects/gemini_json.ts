/** Gemini: replies of the own model as JSON, and as the chunks of a stream. */
import type { ToolCall } from "../../src/schema/chat.ts";
import { signatureOf } from "./call_signature.ts";
import { tokenLogprobs } from "./chat_completion_json.ts";
import type { Answer, JsonObject, ModelCall, Reply } from "./dialect.ts";
import { objectIn } from "./json_object.ts";

/** Arguments that are no object stand beside an empty one as they were sampled, so that nothing of them is lost. */
function functionCall({ id, function: { name, arguments: sampled } }: ToolCall): JsonObject {
  const args = objectIn(sampled);
  return { id, name, args: args ?? {}, ...(args ? {} : { rawArgs: sampled }) };
}

/** The signature stands where clients keep one: with the first call, or with the text of a reply without calls. */
function partsOf({ parsed, toolCalls }: Reply, callId: string): JsonObject[] {
  const thoughtSignature = signatureOf(callId);
  const { content, reasoningContent: thought } = parsed;
  const isAlone = toolCalls.length === 0;
  const text = content || (isAlone ? "" : null);
  return [
    // Shown whatever `includeThoughts` asks for: it is part of what was sampled, and comes back with the next turn.
    ...(thought ? [{ text: thought, thought: true }] : []),
    ...(text === null ? [] : [{ text, ...(isAlone ? { thoughtSignature } : {}) }]),
    ...toolCalls.map((call, at) => ({ functionCall: functionCall(call), ...(at === 0 ? { thoughtSignature } : {}) })),
  ];
}

function logprobsOf(reply: Reply, answer: Answer): JsonObject {
  const named = ({ token, logprob }: JsonObject) => ({ token, logProbability: logprob });
  const content = tokenLogprobs(reply, answer);
  return {
    chosenCandidates: content.map((one, at) => ({ ...named(one), tokenId: reply.tokens.replyIds[at] })),
    topCandidates: content.map(({ top_logprobs: top }) => ({ candidates: (top as JsonObject[]).map(named) })),
  };
}

function usageOf(replies: readonly Reply[]): JsonObject {
  const promptTokenCount = replies[0]?.promptTokens ?? 0;
  const candidatesTokenCount = replies.reduce((sum, { completionTokens }) => sum + completionTokens, 0);
  return {
    promptTokenCount,
    candidatesTokenCount,
    totalTokenCount: promptTokenCount + candidatesTokenCount,
    cachedContentTokenCount: replies[0]?.cachedTokens ?? 0,
  };
}

/** A `GenerateContentResponse`. */
export function writeGenerated(answer: Answer, call: ModelCall): JsonObject {
  const { id, created, model, replies } = answer;
  const candidates = replies.map((reply, index) => ({
    content: { role: "model", parts: partsOf(reply, id) },
    finishReason: reply.finishReason === "length" ? "MAX_TOKENS" : "STOP",
    index,
    ...(call.logprobs ? { logprobsResult: logprobsOf(reply, answer) } : {}),
  }));
  const createTime = new Date(created * 1000).toISOString();
  return { candidates, usageMetadata: usageOf(replies), modelVersion: model, responseId: id, createTime };
}

/** One part per chunk; the reason it ended, and what goes with the whole reply, with its last. */
function candidateChunks({ content, finishReason, index, ...rest }: JsonObject): JsonObject[] {
  const { parts = [] } = (content ?? {}) as { parts?: JsonObject[] };
  return parts.map((part, at) => ({
    content: { role: "model", parts: [part] },
    index,
    ...(at === parts.length - 1 ? { finishReason, ...rest } : {}),
  }));
}

/** A stream that says what the response says: server-sent events, or one list where no `alt=sse` asks for them. */
export function streamGenerated(json: JsonObject, { body }: ModelCall): string[] {
  const { candidates, ...common } = json;
  const chunks = ((candidates ?? []) as JsonObject[]).flatMap(candidateChunks);
  const texts = chunks.map((candidate) => JSON.stringify({ candidates: [candidate], ...common }));
  if (body.stream !== "array") return texts.map((text) => `data: ${text}\n\n`);
  return [...texts.map((text, at) => (at === 0 ? `[${text}` : `,\n${text}`)), texts.length === 0 ? "[]" : "]"];
}
