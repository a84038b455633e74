import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a model server got. */
export interface UpstreamCall {
  path: string;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown>;
  /** Resolves when the caller goes away before it is answered. */
  closed: Promise<void>;
}

/** What it answers: a JSON value with a status, or whatever `respond` writes. */
export type UpstreamReply =
  | { status?: number; json: unknown; type?: string }
  | { respond(response: ServerResponse): void };

/** A model server whose replies a test writes. */
export class StubUpstream {
  readonly calls: UpstreamCall[] = [];
  reply: (call: UpstreamCall) => UpstreamReply | Promise<UpstreamReply> = () => ({ json: {} });
  private readonly server = createServer((request, response) => void this.answer(request, response));

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
  }

  /** OpenAI base path. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    const closed = new Promise<void>((resolve) => response.on("close", () => response.writableFinished || resolve()));
    const call = { path: request.url ?? "", headers: request.headers, body: JSON.parse(text), closed };
    this.calls.push(call);
    const reply = await this.reply(call);
    if ("respond" in reply) {
      reply.respond(response);
      return;
    }
    response.writeHead(reply.status ?? 200, { "content-type": reply.type ?? "application/json", "x-upstream": "1" });
    response.end(typeof reply.json === "string" ? reply.json : JSON.stringify(reply.json));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** A chat completion as vLLM makes it. */
export function completion(
  promptIds: readonly number[],
  replyIds: readonly number[],
  more = {},
): Record<string, unknown> {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    model: "test-model",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "ok" },
        logprobs: { content: replyIds.map((_, at) => ({ token: "t", logprob: -0.25 * (at + 1), top_logprobs: [] })) },
        finish_reason: "stop",
        token_ids: replyIds,
      },
    ],
    usage: { prompt_tokens: promptIds.length, completion_tokens: replyIds.length },
    prompt_token_ids: promptIds,
    ...more,
  };
}
