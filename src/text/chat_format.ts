import type { ChatRequest, EncodedPrompt, ParsedReply, RecordedCall } from "../schema/chat.ts";

/** Chat messages to prompt ids and sampled ids back to messages; `ChatFormat` is the one for Hugging Face folders. */
export interface ChatCodec {
  /** Ids that end a reply. */
  readonly stopIds: readonly number[];
  /**
   * Prompt ids of a request. Where it continues one of the recorded calls, that call's prompt and reply ids are its
   * beginning, verbatim; otherwise the whole conversation is rendered.
   * @throws FormatError "template_error" when the template refuses the messages; "unsupported_content" for a part
   *   that is not text
   */
  encodeRequest(request: ChatRequest, recorded: readonly RecordedCall[]): EncodedPrompt;
  /** The message that sampled ids spell. */
  parseReply(ids: ArrayLike<number>): ParsedReply;
}
