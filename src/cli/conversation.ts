import { deriveKey, seedKey } from "../core/rng.ts";
import type { ChatMessage, ParsedReply, RecordedCall } from "../schema/chat.ts";
import type { Engine, GenerateResult, Sampling } from "../schema/engine.ts";
import type { ChatCodec } from "../text/chat_format.ts";

/** What a conversation is held with. */
export interface ConversationOptions {
  readonly engine: Pick<Engine, "generate">;
  readonly codec: ChatCodec;
  /** The system message; empty for none. */
  readonly system: string;
  readonly sampling: Sampling;
  /** Most tokens of one reply. */
  readonly maxTokens: number;
  readonly seed: number;
}

/** A reply with what it took. */
export interface ConversationTurn {
  readonly reply: ParsedReply;
  readonly finishReason: GenerateResult["finishReason"];
  readonly promptTokens: number;
  /** Prompt tokens whose keys and values were in the cache. */
  readonly cachedTokens: number;
  readonly replyTokens: number;
}

/** A chat: each prompt begins with the earlier prompts and replies token for token, as the gateway's do. */
export class Conversation {
  private readonly options: ConversationOptions;
  private messages: ChatMessage[] = [];
  private recorded: RecordedCall[] = [];
  /** Replies drawn, those before a reset included: no two share their random numbers. */
  private drawn = 0;

  constructor(options: ConversationOptions) {
    this.options = options;
    this.reset();
  }

  /** Forgets everything but the system message. */
  reset(): void {
    const { system } = this.options;
    this.messages = system === "" ? [] : [{ role: "system", content: system }];
    this.recorded = [];
  }

  /**
   * The model's reply to a message. When it throws, the conversation is as if the message had not been sent.
   * @throws FormatError "template_error" | "text_unencodable"; LeydenError "context_length_exceeded"
   */
  async say(text: string): Promise<ConversationTurn> {
    const { engine, codec, sampling, maxTokens, seed } = this.options;
    const request = { messages: [...this.messages, { role: "user", content: text } as const] };
    const { ids: promptIds } = codec.encodeRequest(request, this.recorded);
    const turn = this.drawn++;
    const result = await engine.generate({
      id: `chat-${turn}`,
      promptIds,
      maxTokens,
      sampling,
      key: deriveKey(seedKey(seed), "chat", turn),
      stopIds: codec.stopIds,
      stopStrings: [],
    });
    const reply = codec.parseReply(result.ids);
    const message = assistantMessage(reply);
    this.messages = [...request.messages, message];
    this.recorded.push({ id: `chat-${turn}`, request, reply: message, promptIds, replyIds: result.ids });
    return {
      reply,
      finishReason: result.finishReason,
      promptTokens: promptIds.length,
      cachedTokens: result.cachedTokens,
      replyTokens: result.ids.length,
    };
  }
}

/** No tools were offered, so what looks like a call of one is text. */
function assistantMessage({ content, reasoningContent, toolCalls, text }: ParsedReply): ChatMessage {
  if (toolCalls.length > 0) return { role: "assistant", content: text };
  const reasoning = reasoningContent === null ? {} : { reasoning_content: reasoningContent };
  return { role: "assistant", content: content ?? "", ...reasoning };
}
