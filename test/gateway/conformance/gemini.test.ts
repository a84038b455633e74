/** Fact 64 of the conformance plan: Gemini, as gemini-cli and ADK speak it; built from the description. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { dataOf, GatewayServer, type Json } from "./gateway_server.ts";

const server = new GatewayServer();
beforeAll(() => server.open());
afterAll(() => server.close());

const models = "/v1beta/models/gemini-2.5-pro";
const schema = { type: "object", properties: { file_path: { type: "string" } }, required: ["file_path"] };
const common = {
  systemInstruction: { role: "user", parts: [{ text: "You are an agent." }] },
  tools: [{ functionDeclarations: [{ name: "read_file", description: "Reads.", parametersJsonSchema: schema }] }],
  generationConfig: {
    temperature: 1,
    topP: 0.95,
    topK: 64,
    thinkingConfig: { includeThoughts: true, thinkingBudget: 8192 },
  },
};
const call = '<tool_call>\n{"name": "read_file", "arguments": {"file_path":  "a", "n": 1}}\n</tool_call>';
const sampled = `<think>\nHm.\n</think>\n\nI read.\n${call}`;

type Part = Json & { functionCall?: Json & { id: string } };
interface Chunk {
  candidates: { content: { parts: Part[] }; finishReason?: string }[];
  usageMetadata: Json;
}

let rollout: string;
beforeEach(async () => {
  rollout = await server.rollout();
});

const user = (...parts: Json[]) => ({ role: "user", parts });

async function stream(contents: Json[]): Promise<Chunk[]> {
  const { status, text } = await server.post(rollout, `${models}:streamGenerateContent?alt=sse`, {
    ...common,
    contents,
  });
  expect(status, text).toBe(200);
  return dataOf(text) as unknown as Chunk[];
}

async function parts(contents: Json[]): Promise<Part[]> {
  return (await stream(contents)).flatMap(({ candidates }) => candidates[0]?.content.parts ?? []);
}

async function expectContinued(): Promise<void> {
  const [first, second] = (await server.calls(rollout)).slice(-2);
  expect([second?.parent, second?.breakReason]).toEqual([first?.id, null]);
  const said = [...(first?.tokens.promptIds ?? []), ...(first?.tokens.replyIds ?? [])];
  expect([...(second?.tokens.promptIds.slice(0, said.length) ?? [])]).toEqual(said);
}

const hello = user({ text: "context" }, { text: "read a" });
const response = (id: string | undefined): Json => ({
  functionResponse: { ...(id === undefined ? {} : { id }), name: "read_file", response: { output: "text of a" } },
});

describe("fact 64", () => {
  it("streams data lines, with the reason in the last, usage, signatures and ids of calls, and no [DONE]", async () => {
    server.engine.texts.push(sampled);
    const chunks = await stream([hello]);
    expect(chunks.map(({ candidates }) => candidates[0]?.finishReason)).toEqual([undefined, undefined, "STOP"]);
    expect(chunks.at(-1)?.usageMetadata).toMatchObject({ promptTokenCount: expect.any(Number) });
    const all = chunks.flatMap(({ candidates }) => candidates[0]?.content.parts ?? []);
    expect(all).toMatchObject([
      { text: "Hm.", thought: true },
      { text: "I read." },
      { functionCall: { id: expect.stringMatching(/^call_/), name: "read_file", args: { file_path: "a", n: 1 } } },
    ]);
    expect(all.at(-1)).toHaveProperty("thoughtSignature");
  });

  it("continues a turn that comes back as it was", async () => {
    server.engine.texts.push(sampled, "done");
    const said = await parts([hello]);
    await parts([hello, { role: "model", parts: said }, user(response(said.at(-1)?.functionCall?.id))]);
    await expectContinued();
  });

  it("continues a turn whose call has an id of the client's own, keys in another order, and the signature", async () => {
    server.engine.texts.push(sampled, "done");
    const [, text, made] = await parts([hello]);
    const rewritten = {
      ...made,
      functionCall: { id: "tool_1764_1", name: "read_file", args: { n: 1, file_path: "a" } },
    };
    await parts([hello, { role: "model", parts: [text ?? {}, rewritten] }, user(response("tool_1764_1"))]);
    await expectContinued();
  });

  it("continues a turn whose id and signature were dropped or invented, by its content", async () => {
    for (const extra of [{}, { thoughtSignature: "skip_thought_signature_validator" }]) {
      rollout = await server.rollout();
      server.engine.texts.push(`I read.\n${call}`, "done");
      const [text] = await parts([hello]);
      const made = { functionCall: { name: "read_file", args: { file_path: "a", n: 1 } }, ...extra };
      await parts([hello, { role: "model", parts: [{ text: text?.text }, made] }, user(response(undefined))]);
      await expectContinued();
    }
  });

  it("answers generateContent, as ADK calls it, with an empty configuration", async () => {
    const body = { contents: [user({ text: "hi" })], generationConfig: {} };
    expect(await server.json(rollout, `${models}:generateContent`, body)).toMatchObject({
      candidates: [{ content: { role: "model", parts: [{ text: "done" }] }, finishReason: "STOP" }],
    });
  });
});
