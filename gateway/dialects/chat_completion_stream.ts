/** OpenAI Chat Completions: a finished completion as the chunks of a stream. */
import type { JsonObject, ModelCall } from "./dialect.ts";

interface ToolCallJson {
  id?: string;
  function?: { name?: string; arguments?: string };
}

/** A call's id and name in one delta, its arguments in the next, as clients assemble them. */
function toolCallDeltas(calls: readonly ToolCallJson[]): JsonObject[] {
  return calls.flatMap(({ id, function: called }, index) => [
    { tool_calls: [{ index, id, type: "function", function: { name: called?.name ?? "", arguments: "" } }] },
    { tool_calls: [{ index, function: { arguments: called?.arguments ?? "" } }] },
  ]);
}

function deltas(message: JsonObject): JsonObject[] {
  const { content, reasoning_content: reasoning, tool_calls: calls } = message;
  return [
    { role: "assistant", content: "" },
    ...(typeof reasoning === "string" && reasoning !== "" ? [{ reasoning_content: reasoning }] : []),
    ...(typeof content === "string" && content !== "" ? [{ content }] : []),
    ...(Array.isArray(calls) ? toolCallDeltas(calls as ToolCallJson[]) : []),
  ];
}

function choiceChunks(choice: JsonObject, tokenIds: boolean): JsonObject[] {
  const { index = 0, message, logprobs = null, finish_reason: reason = null, token_ids: ids } = choice;
  const parts = deltas((message ?? {}) as JsonObject);
  // Everything that belongs to the tokens goes with the last delta, after which the reason ends the choice.
  const withTokens = { logprobs, ...(tokenIds && ids !== undefined ? { token_ids: ids } : {}) };
  return [
    ...parts.map((delta, at) => ({
      index,
      delta,
      ...(at === parts.length - 1 ? withTokens : { logprobs: null }),
      finish_reason: null,
    })),
    { index, delta: {}, logprobs: null, finish_reason: reason },
  ];
}

function wantsUsage({ body }: ModelCall): boolean {
  return Boolean((body.stream_options as { include_usage?: unknown } | null | undefined)?.include_usage);
}

/** The events of a stream that says what a `chat.completion` says, `[DONE]` included. */
export function streamCompletion(json: JsonObject, call: ModelCall): string[] {
  const { id, created, model, usage, prompt_token_ids: promptIds } = json;
  const withUsage = wantsUsage(call);
  const tokenIds = call.tokenIds === true;
  const chunk = (choices: JsonObject[], more: JsonObject) =>
    `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created, model, choices, ...more })}\n\n`;
  const choices = (Array.isArray(json.choices) ? json.choices : []) as JsonObject[];
  const parts = choices.flatMap((choice) => choiceChunks(choice, tokenIds));
  const events = parts.map((choice, at) =>
    chunk([choice], {
      ...(withUsage ? { usage: null } : {}),
      ...(tokenIds && at === 0 && promptIds !== undefined ? { prompt_token_ids: promptIds } : {}),
    }),
  );
  if (withUsage) events.push(chunk([], { usage: usage ?? null }));
  return [...events, "data: [DONE]\n\n"];
}
