/**
 * The `openai` package against the gateway, with a real tokenizer and chat template: tool loops over the Responses API
 * in each of the ways a harness may go on, continued by their exact tokens.
 */
import OpenAI from "openai";
import type { Response as ApiResponse, ResponseInputItem, Tool } from "openai/resources/responses/responses";
import { beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../../gateway/app.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { tinyFormat } from "../text/formats.ts";
import { harnessTemplate } from "./harness_template.ts";
import { ScriptedEngine } from "./scripted_engine.ts";

const codec = tinyFormat(harnessTemplate);

let engine: ScriptedEngine;
let store: MemoryStore;
let openai: OpenAI;

/** A gateway over what the store holds, and a client of it. */
function connect(): void {
  const app = createApp({ store, model: engine.model, clock: systemClock, entropy: systemEntropy });
  openai = new OpenAI({
    apiKey: "none",
    baseURL: "http://gateway/r/r/0/train/v1",
    maxRetries: 0,
    fetch: async (url, init) => await app.request(new Request(url, init)),
  });
}

beforeEach(async () => {
  engine = new ScriptedEngine(codec);
  engine.contextLength = 100_000;
  store = new MemoryStore();
  const app = createApp({ store, model: engine.model, clock: systemClock, entropy: systemEntropy });
  await app.request("/api/rollouts", { method: "POST", body: JSON.stringify([{ rollout_id: "r", input: 1 }]) });
  connect();
});

const tools: Tool[] = [{ type: "function", name: "calc", parameters: { type: "object" }, strict: false }];
const instructions = "You calculate.";
const question: ResponseInputItem = { role: "user", content: "What is 2 + 3 + 4?" };
const call = (text: string) =>
  `<think>\nA sum.\n</think>\n\nI add.\n<tool_call>\n{"name": "calc", "arguments": {"e":  "${text}"}}\n</tool_call>`;

async function create(body: OpenAI.Responses.ResponseCreateParamsNonStreaming): Promise<ApiResponse> {
  return await openai.responses.create({ model: "m", tools, instructions, ...body });
}

/** By events alone, leaving at the last one, as programs do that read streams themselves. */
async function streamed(body: OpenAI.Responses.ResponseCreateParamsNonStreaming): Promise<ApiResponse> {
  const events = await openai.responses.create({ model: "m", tools, instructions, ...body, stream: true });
  let text = "";
  for await (const event of events) {
    if (event.type === "response.output_text.delta") text += event.delta;
    if (event.type !== "response.completed") continue;
    const said = event.response.output.flatMap((item) => (item.type === "message" ? item.content : []));
    expect(said.map((part) => (part.type === "output_text" ? part.text : "")).join("")).toBe(text);
    return event.response;
  }
  throw new Error("the stream did not end with response.completed");
}

/** By the helper that assembles the events. */
async function assembled(body: OpenAI.Responses.ResponseCreateParamsNonStreaming): Promise<ApiResponse> {
  const { stream: _, ...rest } = body;
  return await openai.responses.stream({ model: "m", tools, instructions, ...rest }).finalResponse();
}

function outputs({ output }: ApiResponse): ResponseInputItem[] {
  return output.flatMap((item): ResponseInputItem[] =>
    item.type === "function_call" ? [{ type: "function_call_output", call_id: item.call_id, output: "5" }] : [],
  );
}

/** The recorded calls are one lineage, each the tokens of the one before and more. */
async function expectOneLineage(length: number): Promise<void> {
  const calls = await store.calls("r");
  expect(calls).toHaveLength(length);
  for (const [at, { tokens, parent, prefixLength, breakReason }] of calls.entries()) {
    const before = calls[at - 1];
    expect([parent, breakReason]).toEqual([before?.id ?? null, null]);
    const ids = before ? [...before.tokens.promptIds, ...before.tokens.replyIds] : [];
    expect([...tokens.promptIds.slice(0, prefixLength)]).toEqual(ids);
  }
}

const script = () => engine.texts.push(call("2+3"), call("5+4"), "It is 9.");

describe.each([
  ["create", create],
  ["a stream", streamed],
  ["the stream helper", assembled],
])("two tool turns by %s", (_, ask) => {
  it("that send the output items back", async () => {
    script();
    const input: ResponseInputItem[] = [question];
    let response = await ask({ input, include: ["reasoning.encrypted_content"], store: false });
    expect(response.output.map((item) => item.type)).toEqual(["reasoning", "message", "function_call"]);
    for (let turn = 0; turn < 2; turn++) {
      input.push(...(response.output as ResponseInputItem[]), ...outputs(response));
      response = await ask({ input, include: ["reasoning.encrypted_content"], store: false });
    }
    expect(response.output).toMatchObject([{ type: "message", content: [{ text: "It is 9." }] }]);
    await expectOneLineage(3);
  });

  it("that name the previous response, a restart of the gateway between them", async () => {
    script();
    const first = await ask({ input: [question] });
    const second = await ask({ input: outputs(first), previous_response_id: first.id });
    connect();
    const third = await ask({ input: outputs(second), previous_response_id: second.id });
    expect(third.previous_response_id).toBe(second.id);
    await expectOneLineage(3);
    const again = await openai.responses.retrieve(second.id);
    expect(again.output.map(({ id }) => id)).toEqual(second.output.map(({ id }) => id));
    expect(again.usage).toEqual(second.usage);
  });

  it("that refer to items", async () => {
    script();
    const input: ResponseInputItem[] = [question];
    for (let turn = 0; turn < 2; turn++) {
      const response = await ask({ input });
      for (const { id } of response.output) input.push({ type: "item_reference", id: id ?? "" });
      input.push(...outputs(response));
    }
    await ask({ input });
    await expectOneLineage(3);
  });
});

describe("replies of several calls", () => {
  const two =
    '<tool_call>\n{"name": "calc", "arguments": {"e": "1"}}\n</tool_call>\n<tool_call>\n{"name": "calc", "arguments": {"e": "2"}}\n</tool_call>';

  it("are one message, even when each output follows its call, and ids are the harness's", async () => {
    engine.texts.push(two);
    const { output } = await create({ input: [question] });
    const calls = output.filter((item) => item.type === "function_call");
    expect(calls).toHaveLength(2);
    const replayed = calls.flatMap(({ call_id, name }, at): ResponseInputItem[] => [
      { type: "function_call", id: `fc_mine_${at}`, call_id, name, arguments: "{}" },
      { type: "function_call_output", call_id, output: `${at}` },
    ]);
    await create({ input: [question, ...replayed] });
    await expectOneLineage(2);
  });
});

describe("instructions", () => {
  it("are not carried over from the previous response", async () => {
    const first = await create({ input: [question] });
    await create({ input: "Go on.", previous_response_id: first.id, instructions: "You sing." });
    const [, second] = await store.calls("r");
    const prompt = engine.decode(second?.tokens.promptIds ?? []);
    expect(prompt).toContain("You sing.");
    expect(prompt).not.toContain("You calculate.");
    expect(prompt).toContain("done");
    expect([second?.parent, second?.breakReason]).toEqual([null, "edited"]);
  });
});

describe("errors", () => {
  it("are the client's own classes", async () => {
    await expect(create({ input: "hi", previous_response_id: "resp_00" })).rejects.toMatchObject({
      constructor: OpenAI.BadRequestError,
      status: 400,
      code: "previous_response_not_found",
      param: "previous_response_id",
    });
    await expect(openai.responses.retrieve("resp_00")).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });
});
