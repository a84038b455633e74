import fc from "fast-check";
import type { ChatMessage, ChatRequest, RecordedCall, ToolCall, ToolDefinition } from "../../src/schema/chat.ts";
import type { ChatFormat } from "../../src/text/chat_format.ts";

/** One turn of the model and what the agent answers. */
export interface Turn {
  thinking: string | null;
  text: string;
  calls: { name: string; arguments: string }[];
  /** False: the reply ran into the token limit before its end-of-turn token. */
  ended: boolean;
  results: string[];
  user: string | null;
}

/** A conversation to be played against a chat format. */
export interface Script {
  system: string;
  question: string;
  tools: boolean;
  turns: Turn[];
}

const pieces = ["hello", " the ", "\n", "é", "你好", "🙂", "12345", '"', "{", "}", "\\", " ", "\t", "'s", "<", "a|b"];
/** Texts that spell no control token. */
export const plainText: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...pieces), { maxLength: 8 })
  .map((p) => p.join(""));
/** Texts without white space at either end, as a template that trims leaves them. */
const solidText = plainText.map((text) => `x${text}x`);
/** Texts that may spell control tokens. */
export const temptingText: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...pieces, "<|im_end|>", "<|im_start|>", "<tool_call>", "</think>", "<|im_", "end|>"), {
    maxLength: 8,
  })
  .map((p) => p.join(""));

/** JSON of a flat object in Python's spacing, as templates serialise arguments. */
function pythonJson(value: object): string {
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${JSON.stringify(item)}`);
  return `{${members.join(", ")}}`;
}

/** Arguments as a model may write them: any spacing. */
const callArguments = fc
  .tuple(
    fc.dictionary(fc.constantFrom("expression", "n", "q"), fc.oneof(plainText, fc.integer(), fc.boolean())),
    fc.boolean(),
  )
  .map(([value, spaced]) => (spaced ? JSON.stringify(value, null, 1) : JSON.stringify(value)));

/** The same conversation with every call's arguments as the template would write them. */
export function inPythonSpacing(script: Script): Script {
  const respaced = (c: Turn["calls"][number]) => ({ ...c, arguments: pythonJson(JSON.parse(c.arguments) as object) });
  return { ...script, turns: script.turns.map((turn) => ({ ...turn, calls: turn.calls.map(respaced) })) };
}

const call = fc.record({ name: fc.constantFrom("calculator", "search"), arguments: callArguments });

/** Conversations of several turns; `text` makes what agents write. */
export function scripts(
  text: fc.Arbitrary<string>,
  options: { thinking: boolean; ended?: boolean },
): fc.Arbitrary<Script> {
  const turn = fc
    .record({
      thinking: options.thinking ? fc.option(solidText) : fc.constant(null),
      text: fc.oneof(fc.constant(""), solidText),
      calls: fc.array(call, { maxLength: 2 }),
      ended: options.ended === undefined ? fc.boolean() : fc.constant(options.ended),
      results: fc.array(text, { minLength: 2, maxLength: 2 }),
      user: fc.option(text),
    })
    // A turn without tool results needs a user message to go on from.
    .map((t) => (t.calls.length > 0 || t.user !== null ? t : { ...t, user: "go on" }));
  return fc.record({
    system: text.map((value) => `s${value}`),
    question: text,
    tools: fc.boolean(),
    turns: fc.array(turn, { minLength: 1, maxLength: 4 }),
  });
}

export const tools: readonly ToolDefinition[] = [
  { type: "function", function: { name: "calculator", description: "Evaluate.", parameters: { type: "object" } } },
];

/** The text that the model samples for a turn, without the end-of-turn token. */
export function sampledText(turn: Turn): string {
  const thinking = turn.thinking === null ? "" : `<think>\n${turn.thinking}\n</think>\n\n`;
  const calls = turn.calls.map((c) => `<tool_call>\n{"name": "${c.name}", "arguments": ${c.arguments}}\n</tool_call>`);
  return thinking + [turn.text, ...calls].filter((part) => part !== "").join("\n");
}

/** What an agent sends back for a delivered reply. */
export type Replay = (reply: ChatMessage) => ChatMessage;

/** Serialises arguments anew, uses parts, adds keys of its own, drops thinking. */
export const carelessReplay: Replay = (reply) => ({
  ...reply,
  reasoning_content: undefined,
  content: typeof reply.content === "string" ? [{ type: "text", text: reply.content }] : "",
  tool_calls: reply.tool_calls?.map((c) => ({
    ...c,
    function: { ...c.function, arguments: JSON.stringify(JSON.parse(c.function.arguments)) },
  })),
  ...{ cache_control: { type: "ephemeral" }, refusal: null },
});

/** A played call with what the agent sent. */
export interface PlayedCall extends RecordedCall {
  request: ChatRequest;
  parent: string | null;
  prefixLength: number;
  break: string | null;
}

/** Plays a conversation: every request is encoded with all recorded calls at hand, every reply parsed and recorded. */
export function play(
  format: ChatFormat,
  script: Script,
  replay: Replay,
  templateArgs?: Record<string, unknown>,
  sampled: (turn: Turn | null) => ArrayLike<number> = (turn) =>
    format.tokenizer.encode(turn ? sampledText(turn) : "done"),
): PlayedCall[] {
  const played: PlayedCall[] = [];
  const messages: ChatMessage[] = [
    { role: "system", content: script.system },
    { role: "user", content: script.question },
  ];
  const endId = format.stopIds[0] as number;
  for (const [i, turn] of [...script.turns, null].entries()) {
    const request: ChatRequest = { messages: [...messages], tools: script.tools ? tools : null, templateArgs };
    const encoded = format.encodeRequest(request, played);
    const ended = turn?.ended ?? true;
    const replyIds = [...Array.from(sampled(turn)), ...(ended ? [endId] : [])];
    const parsed = format.parseReply(replyIds, templateArgs, request.tools);
    const toolCalls = parsed.toolCalls.map(
      (c, n): ToolCall => ({ id: `call_${i}_${n}`, type: "function", function: c }),
    );
    const reply: ChatMessage = {
      role: "assistant",
      content: parsed.content,
      ...(parsed.reasoningContent === null ? {} : { reasoning_content: parsed.reasoningContent }),
      ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
    };
    played.push({
      id: `call-${i}`,
      request,
      reply,
      promptIds: encoded.ids,
      replyIds,
      parent: encoded.parentCall,
      prefixLength: encoded.prefixLength,
      break: encoded.break,
    });
    messages.push(replay(reply));
    for (const [n, c] of toolCalls.entries()) {
      messages.push({ role: "tool", tool_call_id: c.id, content: turn?.results[n] ?? "" });
    }
    if (turn && (turn.user !== null || toolCalls.length === 0))
      messages.push({ role: "user", content: turn.user ?? "go on" });
  }
  return played;
}
