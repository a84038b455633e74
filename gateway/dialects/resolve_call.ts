import type { Dialect, ModelCall, PastCalls } from "./dialect.ts";
import { withReadableResults } from "./tool_results.ts";

/** A call with everything in its place that the model reads. @throws ApiError 400 for references to what is not there */
export function resolvedCall(dialect: Dialect, asked: ModelCall, past: PastCalls): ModelCall {
  const call = dialect.resolve?.(asked, past) ?? asked;
  const messages = withReadableResults(call.chat.messages);
  return messages === call.chat.messages ? call : { ...call, chat: { ...call.chat, messages } };
}
