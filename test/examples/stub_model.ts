import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What the stub answers: a text, or calls of a tool by their argument texts. */
export type StubReply = { content: string } | { calls: { name?: string; arguments: string }[] };

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

/** Replies in order, the last one for good; or a reply to each request. */
export type StubReplies = readonly StubReply[] | ((body: StubRequest["body"]) => StubReply);

/** A chat completions endpoint that gives the replies and keeps the requests; ends with the test. */
export async function stubModel(replies: StubReplies): Promise<{ url: string; requests: StubRequest[] }> {
  const requests: StubRequest[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const asked = body as StubRequest["body"];
      const reply =
        typeof replies === "function"
          ? replies(asked)
          : (replies[Math.min(requests.length, replies.length - 1)] as StubReply);
      requests.push({ path: request.url ?? "", key: request.headers.authorization ?? "", body: asked });
      const message = toMessage(reply, requests.length);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: "c", object: "chat.completion", choices: [{ index: 0, message }] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}

/** A request as the stub got it. */
export interface StubRequest {
  path: string;
  key: string;
  body: { messages: { role: string; content: unknown }[]; [key: string]: unknown };
}

function toMessage(reply: StubReply, turn: number): object {
  if ("content" in reply) return { role: "assistant", content: reply.content };
  const calls = reply.calls.map(({ name = "calculator", arguments: text }, i) => ({
    id: `call_${turn}_${i}`,
    type: "function",
    function: { name, arguments: text },
  }));
  return { role: "assistant", content: null, tool_calls: calls };
}
