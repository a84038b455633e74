/** Calls asked again: sampled from the policy, kept as notes beside the record, and thereby never trained. */
import { hex } from "../../src/core/clock.ts";
import { deriveKey, seedKey } from "../../src/core/rng.ts";
import type { ChatMessage, ParsedReply } from "../../src/schema/chat.ts";
import type { Store } from "../../src/schema/store.ts";
import type { ForkRequest, StudioFork } from "../../src/schema/studio_api.ts";
import { toolCallId } from "../calls/call_key.ts";
import { ContextLengthExceeded, DetailError } from "../http/errors.ts";
import { forkPrompt, sharedIds } from "./fork_prompt.ts";
import type { Studio } from "./studio.ts";
import { studioReply, studioTokens } from "./token_text.ts";

/** Tokens of a reply, where the request does not say. */
const defaultMaxTokens = 256;

function noteName(rolloutId: string): string {
  return `fork:${rolloutId}`;
}

/** A rollout's forks, in order. */
export async function forksOf(store: Store, rolloutId: string): Promise<StudioFork[]> {
  return (await store.notes(noteName(rolloutId))).map(({ data }) => data as StudioFork);
}

/** The reply as a harness would get it. */
function messageOf(parsed: ParsedReply, key: readonly [number, number]): ChatMessage {
  const calls = parsed.toolCalls.map((call, i) => ({
    id: toolCallId("call_", key, i),
    type: "function" as const,
    function: { name: call.name, arguments: call.arguments },
  }));
  return {
    role: "assistant",
    content: parsed.content,
    ...(parsed.reasoningContent === null ? {} : { reasoning_content: parsed.reasoningContent }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/**
 * Asks a recorded call again and keeps what came. Draws are of a stream of their own, so no rollout's draw changes.
 * @throws DetailError 404, 409 where no model is served, 422; ApiError "context_length_exceeded"; what the engine throws
 */
export async function forkCall(
  studio: Studio,
  rolloutId: string,
  callId: string,
  asked: ForkRequest,
): Promise<StudioFork> {
  const { gateway } = studio;
  const { recorded, call, index } = await studio.rollouts.call(rolloutId, callId);
  const model = studio.model(call.policy);
  if (model === null || model.policy === "null") throw new DetailError(409, "No model is served that could answer");
  const { ids, kind, chat } = await forkPrompt(recorded, index, asked, model);
  const { contextLength } = await model.engine.info();
  if (contextLength <= ids.length) throw new ContextLengthExceeded(contextLength, ids.length);
  const id = `fork-${hex(gateway.deps.entropy.bytes(8))}`;
  const key = deriveKey(seedKey(gateway.config.seed), id);
  const recordedTemperature = call.sampling.temperature;
  const temperature = asked.temperature ?? (typeof recordedTemperature === "number" ? recordedTemperature : 1);
  const result = await model.engine.generate({
    id,
    promptIds: ids,
    maxTokens: Math.min(asked.maxTokens ?? defaultMaxTokens, contextLength - ids.length),
    sampling: { temperature, topK: 0, topP: 1, minP: 0 },
    key,
    stopIds: model.codec.stopIds,
    stopStrings: [],
  });
  const bytesOf = studio.tokenBytes(call.policy);
  const kept = sharedIds(ids, call);
  const { ids: replyIds, logprobs, versions } = result;
  const fork: StudioFork = {
    id,
    rollout: rolloutId,
    call: callId,
    kind,
    at: gateway.now(),
    temperature,
    promptTokens: ids.length,
    kept,
    changed: studioTokens(ids.subarray(kept), bytesOf),
    reply: studioReply({ replyIds, logprobs, versions }, bytesOf),
    message: messageOf(model.codec.parseReply(replyIds, chat?.templateArgs, chat?.tools), key),
    finishReason: result.finishReason,
  };
  await gateway.store.append([{ type: "experiment", name: noteName(rolloutId), data: fork, at: fork.at }]);
  return fork;
}
