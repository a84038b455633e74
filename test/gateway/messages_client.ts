/** Requests in Anthropic's form, and what is read of the replies. */
import type { AppClient } from "./app_client.ts";

type Json = Record<string, unknown>;

/** What is read of a message. */
export interface Message {
  id: string;
  content: (Json & { type: string; id?: string; text?: string; signature?: string })[];
  stop_reason: string;
  stop_sequence: string | null;
  usage: { input_tokens: number; output_tokens: number; cache_read_input_tokens: number };
}

/** A message in the name of rollout "r". */
export function postMessages(client: AppClient, body: Json, mode = "train"): Promise<Response> {
  return client.post(`/r/r/0/${mode}/v1/messages?beta=true`, body);
}

/** The reply to a request that is answered. */
export async function askMessages(client: AppClient, body: Json): Promise<Message> {
  const response = await postMessages(client, body);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
  return JSON.parse(text) as Message;
}

/** The events of a stream, each as its data; its name must say the same. */
export function messageEvents(text: string): Json[] {
  const events = text.split("\n\n").filter((event) => event !== "" && !event.startsWith(":"));
  return events.map((event) => {
    const [, name, data = ""] = /^event: (\w+)\ndata: (.*)$/s.exec(event) ?? [];
    const json = JSON.parse(data) as Json;
    if (json.type !== name) throw new Error(`event ${name} holds ${data}`);
    return json;
  });
}
