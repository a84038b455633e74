/** Faults of streamed calls that others shipped, each named after its report. */
import { expect, it } from "vitest";
import { calcTemplate, tinyFormat } from "../text/formats.ts";
import { AppClient, type Completion, sse } from "./app_client.ts";
import { ScriptedEngine } from "./scripted_engine.ts";

type Json = Record<string, unknown>;

const tools = [{ type: "function", function: { name: "calc", parameters: { type: "object" } } }];
const drawn = 'Let me see.<tool_call>\n{"name": "calc", "arguments": {"e":  "2+3"}}\n</tool_call>';

/** What a stream says of a call's tokens, over all its chunks. */
function streamedIds(chunks: readonly Json[]): { prompt: unknown; reply: number[]; logprobs: number } {
  const choices = chunks.flatMap((chunk) => (chunk.choices as Json[] | undefined) ?? []);
  return {
    prompt: chunks.find((chunk) => chunk.prompt_token_ids !== undefined)?.prompt_token_ids,
    reply: choices.flatMap((choice) => (choice.token_ids as number[] | undefined) ?? []),
    logprobs: choices.reduce(
      (n, { logprobs }) => n + ((logprobs as { content: unknown[] } | null)?.content.length ?? 0),
      0,
    ),
  };
}

interface Assembled {
  role: "assistant";
  content: string;
  tool_calls: { id: string; type: string; function: { name: string; arguments: string } }[];
}

/** The message that a client makes of a stream's deltas. */
function assembled(chunks: readonly Json[]): Assembled {
  const message: Assembled = { role: "assistant", content: "", tool_calls: [] };
  for (const chunk of chunks) {
    const [choice] = (chunk.choices as { delta: Partial<Assembled> }[] | undefined) ?? [];
    message.content += choice?.delta.content ?? "";
    for (const part of (choice?.delta.tool_calls ?? []) as (Assembled["tool_calls"][number] & { index: number })[]) {
      const { index, ...call } = part;
      const known = message.tool_calls[index];
      if (known === undefined) message.tool_calls[index] = call;
      else known.function.arguments += part.function.arguments;
    }
  }
  return message;
}

it("streaming with tool calls gives the ids that were drawn, once each, and goes on from them (agent-lightning 326)", async () => {
  const codec = tinyFormat(calcTemplate);
  const engine = new ScriptedEngine(codec);
  const tokenText = (id: number) => codec.tokenizer.decode([id]);
  const client = new AppClient({}, { model: { engine, codec, tokenText } });
  engine.texts.push(drawn, drawn, "It is 5.");
  await client.create("r");
  await client.create("whole");
  const messages: Json[] = [{ role: "user", content: "What is 2 + 3?" }];
  const asked = { messages, tools, return_token_ids: true, logprobs: true };
  const streamed = await client.chat("r", { ...asked, stream: true });
  const { chunks } = sse(await streamed.text());
  const plain = (await (await client.chat("whole", asked)).json()) as Completion;
  const [first] = await client.calls("r");
  const ids = streamedIds(chunks);
  expect(ids.reply).toEqual([...(first?.tokens.replyIds ?? [])]);
  expect(ids.reply).toEqual(plain.choices[0]?.token_ids);
  expect(ids.prompt).toEqual(plain.prompt_token_ids);
  expect(ids.logprobs).toBe(ids.reply.length);
  expect(first?.tokens.logprobs).toHaveLength(ids.reply.length);

  // What the client puts together of the chunks is continued token by token.
  const message = assembled(chunks);
  expect(message).toMatchObject({ content: "Let me see.", tool_calls: [{ function: { name: "calc" } }] });
  const results = message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "5" }));
  await (await client.chat("r", { ...asked, messages: [...messages, message, ...results], stream: true })).text();
  const [, second] = await client.calls("r");
  expect([second?.parent, second?.breakReason]).toEqual([first?.id, null]);
  expect([...(second?.tokens.promptIds ?? [])].slice(0, second?.prefixLength)).toEqual([
    ...(first?.tokens.promptIds ?? []),
    ...ids.reply,
  ]);
});
