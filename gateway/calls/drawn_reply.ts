/** What was drawn, as the reply that a harness gets. */
import type { RngKey } from "../../src/core/rng.ts";
import type { EncodedPrompt, ParsedReply } from "../../src/schema/chat.ts";
import type { GenerateResult } from "../../src/schema/engine.ts";
import type { ServedModel } from "../deps.ts";
import type { Dialect, ModelCall, RawPrompt, Reply } from "../dialects/dialect.ts";
import { toolCallId } from "./call_key.ts";
import { finishOf, type ScriptedDraw, withScriptedIds } from "./scripted_draw.ts";

/** One reply to be drawn. */
export interface Draw {
  id: string;
  callKey: string;
  stream: RngKey;
  prompt: EncodedPrompt;
  /** The prompt as it came, where no template wrapped it. */
  raw: RawPrompt | null;
  maxTokens: number;
  /** Null where the model draws by itself. */
  scripted: ScriptedDraw | null;
}

/** The reply without the stop text and what follows it, as OpenAI's clients expect. */
function cutAtStop(parsed: ParsedReply, stop: string): ParsedReply {
  const cut = (text: string | null) => {
    const at = text?.indexOf(stop) ?? -1;
    return text === null || at < 0 ? text : text.slice(0, at);
  };
  return { ...parsed, content: cut(parsed.content), reasoningContent: cut(parsed.reasoningContent) };
}

/** A reply in which nothing is told apart: what looks like a call or like thinking is text. */
function asText(parsed: ParsedReply): ParsedReply {
  return { ...parsed, content: parsed.text, reasoningContent: null, toolCalls: [] };
}

/** A reply that was drawn under the draw's prompt. */
export function drawnReply(
  { codec }: ServedModel,
  dialect: Dialect,
  call: ModelCall,
  draw: Draw,
  result: GenerateResult,
): Reply {
  const { ids: replyIds, logprobs, versions, cachedTokens, topLogprobs } = result;
  const parsed = codec.parseReply(replyIds, call.chat.templateArgs, call.chat.tools);
  const isPlain = call.prompts !== undefined || (parsed.toolCalls.length > 0 && !call.chat.tools);
  const whole = isPlain ? asText(parsed) : parsed;
  const stopString = typeof result.stopped === "string" ? result.stopped : null;
  const shown = stopString === null ? whole : cutAtStop(whole, stopString);
  const toolCalls = shown.toolCalls.map((found, index) => ({
    id: toolCallId(dialect.toolCallPrefix, draw.stream, index),
    type: "function" as const,
    function: { name: found.name, arguments: found.arguments },
  }));
  return {
    tokens: { promptIds: draw.prompt.ids, replyIds, logprobs, versions },
    parsed: shown,
    toolCalls: withScriptedIds(toolCalls, draw.scripted),
    finishReason: finishOf(result, draw.scripted),
    stopString,
    cachedTokens,
    promptTokens: draw.prompt.ids.length,
    completionTokens: replyIds.length,
    constrained: result.constrained === true,
    ...(topLogprobs ? { topLogprobs } : {}),
  };
}
