/** A harness that keeps a conversation in Chat Completions, as real ones do: reply and results are sent back. */
import type { GatewayServer, Json } from "./gateway_server.ts";

export type Message = Json & { role: string; content: unknown; tool_calls?: { id: string }[] };

/** One conversation of a session. */
export class Session {
  readonly messages: Json[];
  private readonly server: GatewayServer;
  private readonly rollout: string;
  private readonly tools: readonly string[];

  constructor(server: GatewayServer, rollout: string, system: string, tools: readonly string[], task = "Say hi.") {
    this.server = server;
    this.rollout = rollout;
    this.tools = tools;
    this.messages = [
      { role: "system", content: system },
      { role: "user", content: task },
    ];
  }

  /** Sends the conversation, with `more` after it, and returns the reply that the model samples. */
  async ask(sampled: string, more: readonly Json[] = []): Promise<Message> {
    this.server.engine.texts.push(sampled);
    const tools = this.tools.map((name) => ({ type: "function", function: { name, parameters: { type: "object" } } }));
    const body = { messages: [...this.messages, ...more], ...(tools.length > 0 ? { tools } : {}) };
    const { choices } = await this.server.json(this.rollout, "/v1/chat/completions", body);
    return (choices as { message: Message }[])[0]?.message as Message;
  }

  /** Asks, and takes the reply and the results of its calls into the conversation. */
  async turn(sampled: string): Promise<void> {
    const reply = await this.ask(sampled);
    const results = (reply.tool_calls ?? []).map(({ id }) => ({ role: "tool", tool_call_id: id, content: `of ${id}` }));
    this.messages.push(reply, ...(results.length > 0 ? results : [{ role: "user", content: "Go on." }]));
  }
}

/** A call of a tool as the model samples it. */
export function sampledCall(name: string, args: string = "{}"): string {
  return `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;
}
