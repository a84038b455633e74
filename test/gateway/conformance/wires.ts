/** How the dialects of captured requests write conversations: where replies stand, what they say, and their ids. */
import type { Json } from "./gateway_server.ts";

/** One dialect. */
export interface Wire {
  path: string;
  /** The field that holds the conversation. */
  list: "messages" | "input";
  isReply(item: Json): boolean;
  /** What the model would have sampled for the items of one reply; arguments as `args` writes them. */
  sampled(items: readonly Json[], args: (args: unknown) => string): string;
  /** Ids that the reply's server gave, in order, by kind. */
  idsOf(items: readonly Json[]): Ids;
  /** The same in a reply of the gateway. */
  idsOfAnswer(answer: Json): Ids;
  /** The whole answer that a stream spells. */
  fromStream(events: readonly Json[]): Json;
}

export type Ids = Record<string, unknown[]>;

function toolCall(name: unknown, args: string): string {
  return `\n<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${args}}\n</tool_call>`;
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part: Json) => part.text ?? "").join("") : "";
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    // Arguments that are no JSON are no call to this template's parser; the harness's words for them stand in.
    return { unparsed: text };
  }
}

type ToolCall = { id: string; function: { name: string; arguments: string } };

const chat: Wire = {
  path: "/v1/chat/completions",
  list: "messages",
  isReply: ({ role }) => role === "assistant",
  sampled: (items, args) =>
    items
      .map(({ content, reasoning_content: thought, tool_calls: calls }) => {
        const said = textOf(content);
        const made = ((calls ?? []) as ToolCall[]).map((call) =>
          toolCall(call.function.name, args(parsed(call.function.arguments))),
        );
        return (thought ? `<think>\n${thought}\n</think>\n\n` : "") + said + made.join("");
      })
      .join(""),
  idsOf: (items) => ({
    call: items.flatMap(({ tool_calls: calls }) => ((calls ?? []) as ToolCall[]).map(({ id }) => id)),
  }),
  idsOfAnswer: ({ choices }) => chat.idsOf([(choices as { message: Json }[])[0]?.message ?? {}]),
  fromStream(events) {
    const deltas = events.flatMap(({ choices }) => ((choices ?? []) as { delta: Json }[]).map(({ delta }) => delta));
    const calls = deltas.flatMap(({ tool_calls: made }) =>
      ((made ?? []) as Partial<ToolCall>[]).filter(({ id }) => id),
    );
    return { choices: [{ message: { tool_calls: calls } }] };
  },
};

const responses: Wire = {
  path: "/v1/responses",
  list: "input",
  isReply: ({ type, role }) =>
    role === "assistant" || type === "reasoning" || type === "function_call" || type === "item_reference",
  sampled: (items, args) =>
    items
      .map((item) => {
        const isThought = item.type === "reasoning" || String(item.id).startsWith("rs_");
        if (isThought) return "<think>\nThinking.\n</think>\n\n";
        if (item.type === "function_call") return toolCall(item.name, args(parsed(item.arguments)));
        return item.type === "item_reference" ? "I will do it." : textOf(item.content);
      })
      .join(""),
  idsOf(items) {
    const some = (take: (item: Json) => unknown) => items.map(take).filter((id) => typeof id === "string");
    const isThought = ({ type, id }: Json) => type === "reasoning" || String(id).startsWith("rs_");
    const isText = (item: Json) => !isThought(item) && item.type !== "function_call";
    return {
      call: some((item) => (item.type === "function_call" ? item.call_id : null)),
      text: some((item) => (isText(item) ? item.id : null)),
      thought: some((item) => (isThought(item) ? item.id : null)),
      seal: some(({ encrypted_content: seal }) => seal),
    };
  },
  idsOfAnswer: ({ output }) => responses.idsOf((output ?? []) as Json[]),
  fromStream: (events) => events.at(-1)?.response as Json,
};

const messages: Wire = {
  path: "/v1/messages",
  list: "messages",
  isReply: ({ role }) => role === "assistant",
  sampled: (items, args) =>
    items
      .flatMap(({ content }) => (typeof content === "string" ? [{ type: "text", text: content }] : (content as Json[])))
      .map((block: Json) => {
        if (block.type === "thinking") return `<think>\n${block.thinking}\n</think>\n\n`;
        return block.type === "tool_use" ? toolCall(block.name, args(block.input)) : String(block.text);
      })
      .join(""),
  idsOf(items) {
    const blocks = items.flatMap(({ content }) => (typeof content === "string" ? [] : ((content ?? []) as Json[])));
    return {
      call: blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id),
      seal: blocks.filter(({ type }) => type === "thinking").map(({ signature }) => signature),
    };
  },
  idsOfAnswer: (answer) => messages.idsOf([answer]),
  fromStream(events) {
    const seals = events.flatMap(({ delta }) =>
      (delta as Json | undefined)?.type === "signature_delta" ? [delta as Json] : [],
    );
    const blocks = events.flatMap(({ content_block: block }) => (block ? [block as Json] : []));
    return {
      content: blocks.map((block) =>
        block.type === "thinking" ? { ...block, signature: seals.shift()?.signature } : block,
      ),
    };
  },
};

/** By the name that the index of captures has for it. */
export const wires: Readonly<Record<string, Wire>> = { chat, responses, anthropic: messages };
