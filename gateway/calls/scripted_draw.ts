/** Draws whose outcome a script decides: its tokens are forced through the model, which tells their true logprobs. */
import type { Clock } from "../../src/core/clock.ts";
import { CancelledError } from "../../src/core/errors.ts";
import type { ChatRequest, ToolCall } from "../../src/schema/chat.ts";
import type { GenerateResult } from "../../src/schema/engine.ts";
import type { ScriptedReply } from "../../src/schema/script.ts";
import type { ServedModel } from "../deps.ts";
import { ApiError } from "../http/errors.ts";

/** What a draw shall come to. */
export interface ScriptedDraw {
  reply: ScriptedReply;
  /** The reply as the model writes it, the end of its turn included. */
  forcedIds: Int32Array;
}

/** The script's next reply to a rollout's request; null where the model answers by itself. */
export function scriptedDraw(model: ServedModel, rolloutId: string, chat: ChatRequest): ScriptedDraw | null {
  const reply = model.script?.next(rolloutId, chat);
  if (reply === undefined) return null;
  const { text = null, reasoning = null, calls = [] } = reply;
  const toolCalls = calls.map(({ name, arguments: args = "{}" }) => ({ name, arguments: args }));
  const written = { content: text, reasoningContent: reasoning, toolCalls };
  return { reply, forcedIds: model.codec.encodeReply(written, chat.templateArgs) };
}

/** Waits as the script says. @throws ApiError "scripted_error" where the script has one; CancelledError */
export async function obeyScript(draw: ScriptedDraw | null, clock: Clock, signal: AbortSignal): Promise<void> {
  const { delayMs = 0, error } = draw?.reply ?? {};
  if (delayMs > 0) await clock.sleep(delayMs, signal);
  if (signal.aborted) throw new CancelledError("A call");
  if (error !== undefined) throw new ApiError(error, "scripted_error", `The script answers this call with ${error}.`);
}

/** Why a draw ended: a scripted reply is whole when all of it was said. */
export function finishOf({ ids, finishReason }: GenerateResult, draw: ScriptedDraw | null): "stop" | "length" {
  if (draw !== null) return ids.length < draw.forcedIds.length && finishReason !== "stop" ? "length" : "stop";
  return finishReason === "stop" ? "stop" : "length";
}

/** The reply's tool calls under the ids that the script gives them. */
export function withScriptedIds(toolCalls: readonly ToolCall[], draw: ScriptedDraw | null): ToolCall[] {
  const { calls = [] } = draw?.reply ?? {};
  if (calls.length !== toolCalls.length) return [...toolCalls];
  return toolCalls.map((call, at) => ({ ...call, id: calls[at]?.id ?? call.id }));
}
