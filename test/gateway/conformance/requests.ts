/** The least requests of every dialect, and draws that a test holds up. */
import type { GatewayServer, Json } from "./gateway_server.ts";

export const hi: Json & { messages: Json[] } = { messages: [{ role: "user", content: "hi" }] };

/** The least request of each dialect. */
export const least: Readonly<Record<string, Json>> = {
  "/v1/chat/completions": hi,
  "/v1/completions": { prompt: "hi" },
  "/v1/responses": { input: "hi" },
  "/v1/messages": { ...hi, max_tokens: 9 },
  "/v1beta/models/m:generateContent": { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
};
/** Requests for streams. */
export const streamed: Readonly<Record<string, Json>> = {
  "/v1/chat/completions": { ...hi, stream: true },
  "/v1/responses": { input: "hi", stream: true },
  "/v1/messages": { ...hi, max_tokens: 9, stream: true },
};
export const paths: readonly (readonly [path: string, body: Json])[] = Object.entries(least);

/** Replaces the engine's work for one request. */
export function nextDraw(
  { engine }: GatewayServer,
  draw: (signal: Promise<void>) => Promise<never> | Promise<void>,
): void {
  const generate = engine.generate.bind(engine);
  const cancel = engine.cancel.bind(engine);
  engine.generate = async (request) => {
    engine.generate = generate;
    const cancelled = Promise.withResolvers<void>();
    engine.cancel = async (id) => (id === request.id ? cancelled.resolve() : await cancel(id));
    await draw(cancelled.promise);
    return await generate(request);
  };
}

export const sleep = (ms: number): Promise<void> => new Promise<void>((resolve) => setTimeout(resolve, ms));
/** A draw that fails for no known reason. */
export const failed = async (): Promise<never> => {
  throw new TypeError("broken");
};
