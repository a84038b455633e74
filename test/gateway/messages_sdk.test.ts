/**
 * The real Anthropic client against the gateway on Node's server. Plan: replies, streams, counts, models; errors; waits; tools
 * over two turns with a real tokenizer, by hand and by the tool runner, which tries threads first.
 */
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ServedModel } from "../../gateway/deps.ts";
import type { ServedGateway } from "../../gateway/listening.ts";
import { serveNode } from "../../gateway/serve_node.ts";
import { chatmlTemplate } from "../../src/text/chatml.ts";
import { tinyFormat } from "../text/formats.ts";
import { AppClient } from "./app_client.ts";
import { ScriptedEngine } from "./scripted_engine.ts";

let client: AppClient;
let served: ServedGateway;
let anthropic: Anthropic;

async function serve(model?: ServedModel): Promise<void> {
  client = new AppClient({ limits: { holdHeadersMs: 60, keepAliveMs: 30 } }, { model });
  served = await serveNode(client.app, { host: "127.0.0.1", port: 0 });
  await client.create("r");
  anthropic = new Anthropic({
    baseURL: `${served.url}/r/r/0/train`,
    apiKey: await client.app.issueKey("r", "0"),
    maxRetries: 0,
  });
}

beforeEach(() => serve());
afterEach(() => served.close(0));

type Turn = Anthropic.MessageParam;

const messages: Turn[] = [{ role: "user", content: "hi" }];
const common = { model: "any", max_tokens: 1000 };
const schema = { type: "object" as const, properties: { a: { type: "number" as const } } };
const add = { name: "add", description: "Adds.", input_schema: schema };

describe("the anthropic client", () => {
  it("reads replies, streams and counts", async () => {
    const reply = await anthropic.messages.create({ ...common, messages });
    expect(reply.content).toEqual([{ type: "text", text: "ok" }]);
    expect(reply.usage).toMatchObject({ input_tokens: 19, output_tokens: 3 });
    const stream = anthropic.messages.stream({ ...common, messages });
    const texts: string[] = [];
    stream.on("text", (text) => texts.push(text));
    expect(await stream.finalMessage()).toMatchObject({ ...reply, id: expect.not.stringMatching(reply.id) });
    expect(texts).toEqual(["ok"]);
    expect(await anthropic.messages.countTokens({ model: "any", messages })).toEqual({ input_tokens: 19 });
    const models = await anthropic.models.list();
    expect(models.data).toMatchObject([{ id: "m", type: "model", display_name: "m" }]);
    expect(models.hasNextPage()).toBe(false);
    await expect
      .poll(async () => (await client.calls("r")).map(({ delivery }) => delivery))
      .toEqual(["delivered", "delivered"]);
  });

  it("knows the errors for what they are", async () => {
    client.engine.contextLength = 8;
    await expect(anthropic.messages.create({ ...common, messages })).rejects.toMatchObject({
      status: 400,
      type: "invalid_request_error",
      errorCode: "context_length_exceeded",
      apiMessage: "prompt is too long: 19 tokens > 7 maximum",
    });
    const nobody = new Anthropic({ baseURL: served.url, apiKey: "sk-wrong", maxRetries: 0 });
    const refused = nobody.messages.create({ ...common, messages });
    await expect(refused).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
  });

  it("learns of a failure before the first byte by its status", async () => {
    client.engine.script = () => new TypeError("broken");
    const failed = anthropic.messages.stream({ ...common, messages }).finalMessage();
    await expect(failed).rejects.toBeInstanceOf(Anthropic.InternalServerError);
    expect(client.faults).toMatchObject([{ message: "broken" }]);
  });

  it("survives waits, kept alive by comments", async () => {
    client.engine.script = () => new Promise((resolve) => setTimeout(() => resolve("late"), 250));
    const reply = await anthropic.messages.stream({ ...common, messages }).finalMessage();
    expect(reply.content).toEqual([{ type: "text", text: "late" }]);
  });

  it("gets an error, never a clean end, when a stream that has begun fails", async () => {
    const broken = new Promise<Error>((resolve) => setTimeout(() => resolve(new TypeError("broken")), 150));
    client.engine.script = () => broken;
    await expect(anthropic.messages.stream({ ...common, messages }).finalMessage()).rejects.toThrow();
    expect(await client.store.failures("r")).toMatchObject([{ code: "internal" }]);
  });
});

describe("a tool loop of the anthropic client", () => {
  const engine = new ScriptedEngine(tinyFormat(chatmlTemplate));
  const calling = (a: number) =>
    `<think>\nstep ${a}\n</think>\n\nso\n<tool_call>\n{"name": "add", "arguments": {"a":  ${a}}}\n</tool_call>`;
  beforeEach(async () => {
    await served.close(0);
    await serve(engine.model);
    engine.texts.length = 0;
  });

  /** Two calls of the tool, one after the other, then an answer: each continues the one before by its exact tokens. */
  async function expectOneLineage(): Promise<void> {
    const calls = await client.calls("r");
    expect(calls.map((call) => call.finishReason)).toEqual(["tool_use", "tool_use", "end_turn"]);
    expect(calls.map((call) => call.parent)).toEqual([null, calls[0]?.id, calls[1]?.id]);
    expect(calls.map((call) => call.breakReason)).toEqual([null, null, null]);
    for (const [at, { tokens }] of calls.slice(0, 2).entries()) {
      const ids = [...tokens.promptIds, ...tokens.replyIds];
      expect([...(calls[at + 1]?.tokens.promptIds.slice(0, ids.length) ?? [])]).toEqual(ids);
    }
    expect(engine.decode(calls[2]?.tokens.promptIds ?? [])).toContain('{"a":  1}');
  }

  it.each([false, true])("is one lineage when written by hand (streamed: %s)", async (isStream) => {
    engine.texts.push(calling(0), calling(1), "done");
    const turns = [...messages];
    const inputs: unknown[] = [];
    for (;;) {
      const body = { ...common, messages: turns, tools: [add] };
      const reply = isStream
        ? await anthropic.messages.stream(body).finalMessage()
        : await anthropic.messages.create(body);
      if (reply.stop_reason === "end_turn") break;
      expect(reply.content).toMatchObject([
        { type: "thinking", thinking: `step ${inputs.length}` },
        { type: "text", text: "so" },
        { type: "tool_use", name: "add" },
      ]);
      const uses = reply.content.filter((block) => block.type === "tool_use");
      inputs.push(...uses.map(({ input }) => input));
      const results = uses.map(({ id }) => ({ type: "tool_result" as const, tool_use_id: id, content: "1" }));
      turns.push({ role: "assistant", content: reply.content }, { role: "user", content: results });
    }
    expect(inputs).toEqual([{ a: 0 }, { a: 1 }]);
    await expectOneLineage();
  });

  it.each([false, true])(
    "is one lineage when the tool runner has to do without threads (streamed: %s)",
    async (stream) => {
      engine.texts.push(calling(0), calling(1), "done");
      const seen: unknown[] = [];
      const run = ({ a }: { a?: number }) => {
        seen.push(a);
        return "1";
      };
      const tool = betaTool({ name: "add", description: "Adds.", inputSchema: schema, run });
      const question = [{ role: "user" as const, content: "hi" }];
      const final = await anthropic.beta.messages.toolRunner({ ...common, messages: question, tools: [tool], stream });
      expect(final.content).toMatchObject([{ type: "text", text: "done" }]);
      expect(seen).toEqual([0, 1]);
      await expectOneLineage();
    },
  );
});
