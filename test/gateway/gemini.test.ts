/** Gemini's generateContent over a fake model: addresses and keys, prompts, replies, streams, counts, refusals. */
import { beforeEach, describe, expect, it } from "vitest";
import { AppClient } from "./app_client.ts";
import { fakeModel } from "./fake_model.ts";

type Json = Record<string, unknown>;

const base = "/r/r/0/train/v1beta/models/gemini-pro";
const user = (text: string) => ({ role: "user", parts: [{ text }] });
const schema = { type: "object", properties: { path: { type: "string" } } };
const tools = [{ functionDeclarations: [{ name: "read", description: "Reads.", parametersJsonSchema: schema }] }];

let client: AppClient;
beforeEach(async () => {
  client = new AppClient();
  await client.create("r");
});

interface Generated {
  candidates: {
    content: { role: string; parts: Json[] };
    finishReason?: string;
    index: number;
    logprobsResult?: Json;
  }[];
  usageMetadata: Json;
  modelVersion: string;
  responseId: string;
}

async function generate(body: Json): Promise<Generated> {
  const response = await client.post(`${base}:generateContent`, body);
  expect(response.status, await response.clone().text()).toBe(200);
  return (await response.json()) as Generated;
}

const promptOf = () => String.fromCharCode(...(client.engine.requests.at(-1)?.promptIds ?? []));

describe("a reply", () => {
  it("holds thinking, text and calls as parts, and signs them with the recorded call", async () => {
    client.engine.script = () => '<think>Hm.</think>I read.<call>read {"path": "a"}</call><call>read {oops</call>';
    const { candidates, usageMetadata, modelVersion, responseId } = await generate({ contents: [user("hi")], tools });
    const [call] = await client.calls("r");
    const thoughtSignature = btoa(`leyden:${call?.id}`);
    const id = expect.stringMatching(/^call_[0-9a-f]{16}$/);
    expect(candidates).toEqual([
      {
        content: {
          role: "model",
          parts: [
            { text: "Hm.", thought: true },
            { text: "I read." },
            { functionCall: { id, name: "read", args: { path: "a" } }, thoughtSignature },
            { functionCall: { id, name: "read", args: {}, rawArgs: "{oops" } },
          ],
        },
        finishReason: "STOP",
        index: 0,
      },
    ]);
    expect([modelVersion, responseId]).toEqual(["m", call?.id]);
    const reply = call?.tokens.replyIds.length ?? 0;
    const prompt = call?.tokens.promptIds.length ?? 0;
    expect(usageMetadata).toEqual({
      promptTokenCount: prompt,
      candidatesTokenCount: reply,
      totalTokenCount: prompt + reply,
      cachedContentTokenCount: 0,
    });
    expect(call).toMatchObject({ dialect: "gemini", finishReason: "STOP", breakReason: null });
  });

  it("without calls has its signature with the text, and says when it was cut", async () => {
    const { candidates } = await generate({
      contents: [user("hi")],
      generationConfig: { maxOutputTokens: 1, candidateCount: 2, responseLogprobs: true, logprobs: 1 },
    });
    const thoughtSignature = expect.stringMatching(/^[\w=]+$/);
    const parts = [{ text: "o", thoughtSignature }];
    expect(candidates).toMatchObject([
      { content: { role: "model", parts }, finishReason: "MAX_TOKENS", index: 0 },
      { content: { role: "model", parts }, finishReason: "MAX_TOKENS", index: 1 },
    ]);
    expect(candidates[0]?.logprobsResult).toEqual({
      chosenCandidates: [{ token: "o", tokenId: 111, logProbability: -0.125 }],
      topCandidates: [{ candidates: [{ token: "o", logProbability: -1 }] }],
    });
    expect(await client.calls("r")).toHaveLength(2);
  });

  it("streams one part per event, without comments or an end mark, or as one list", async () => {
    client.engine.script = () => 'I read.<call>read {"path": "a"}</call>';
    const body = { contents: [user("hi")], tools };
    const response = await client.post(`${base}:streamGenerateContent?alt=sse`, body);
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const text = await response.text();
    const lines = text.split("\n\n");
    expect(lines.pop()).toBe("");
    const chunks = lines.map((line) => JSON.parse(line.replace(/^data: /, "")) as Generated);
    expect(chunks).toMatchObject([
      { candidates: [{ content: { parts: [{ text: "I read." }] } }] },
      { candidates: [{ content: { parts: [{ functionCall: { name: "read" } }] }, finishReason: "STOP" }] },
    ]);
    expect(chunks[0]?.candidates[0]).not.toHaveProperty("finishReason");
    expect(chunks.every(({ usageMetadata }) => Number(usageMetadata.totalTokenCount) > 0)).toBe(true);
    const list = await client.post(`${base}:streamGenerateContent`, body);
    expect(list.headers.get("content-type")).toMatch(/^application\/json/);
    expect(((await list.json()) as Generated[]).map(({ candidates }) => candidates[0]?.content.parts)).toMatchObject(
      chunks.map(({ candidates }) =>
        candidates[0]?.content.parts.map(({ text: said }) => ({ ...(said ? { text: said } : {}) })),
      ),
    );
  });

  it("holds the headers as long as it takes", async () => {
    const slow = new AppClient({ limits: { holdHeadersMs: 1, keepAliveMs: 1 } });
    await slow.create("r");
    slow.engine.script = () => new Promise((resolve) => setTimeout(() => resolve("late"), 60));
    const response = await slow.post(`${base}:streamGenerateContent?alt=sse`, { contents: [user("hi")] });
    expect(await response.text()).toMatch(/^data: \{/);
  });
});

describe("the prompt", () => {
  it("has instructions, turns, calls and results however they were sent", async () => {
    await generate({
      systemInstruction: { parts: [{ text: "be" }] },
      contents: [
        "hello",
        {
          role: "model",
          parts: [
            { text: "h", thought: true },
            { text: "a" },
            { text: "b" },
            { functionCall: { name: "read", args: { path: "x" } } },
          ],
        },
        {
          role: "user",
          parts: [{ functionResponse: { name: "read", response: { output: "text" } } }, { text: "go" }],
        },
        { role: "model", parts: [{ functionCall: { id: "t1", name: "read", args: {} } }] },
        {
          role: "function",
          parts: { functionResponse: { id: "t1", name: "read", response: { error: "no", code: 2 } } },
        },
      ],
      tools: [
        {
          functionDeclarations: [
            { name: "read", parameters: { type: "OBJECT", properties: { n: { type: "INTEGER" } } } },
          ],
        },
        { googleSearch: {} },
      ],
    });
    const definition = {
      type: "function",
      function: { name: "read", parameters: { type: "object", properties: { n: { type: "integer" } } } },
    };
    expect(promptOf()).toBe(
      `{tools ${JSON.stringify([definition])}}[system]be[user]hello[assistant]ab<call>read {"path":"x"}</call>\0` +
        `[tool]text[user]go[assistant]<call>read {}</call>\0[tool]{"error":"no","code":2}[assistant]`,
    );
    expect((await client.calls("r"))[0]?.overridden).toEqual({ "tools.googleSearch": {} });
  });

  it("answers calls by their names where the ids were left out", async () => {
    const calls = [{ functionCall: { name: "a" } }, { functionCall: { name: "b" } }, { functionCall: { name: "a" } }];
    const result = (name: string, output: string) => ({ functionResponse: { name, response: { output } } });
    const model = fakeModel(client.engine);
    const seen: unknown[] = [];
    const spy = {
      ...model,
      codec: {
        ...model.codec,
        encodeRequest: (...args: never[]) => {
          seen.push(args[0]);
          return (model.codec.encodeRequest as (...a: never[]) => never)(...args);
        },
      },
    };
    const other = new AppClient({}, { model: spy });
    await other.create("r");
    const contents = [
      user("hi"),
      { role: "model", parts: calls },
      { role: "user", parts: [result("b", "1"), result("a", "2"), result("a", "3")] },
    ];
    expect((await other.post(`${base}:generateContent`, { contents })).status).toBe(200);
    const { messages } = seen[0] as { messages: { tool_calls?: { id: string }[]; tool_call_id?: string }[] };
    expect(messages[1]?.tool_calls?.map(({ id }) => id)).toEqual(["a_0", "b_1", "a_2"]);
    expect(messages.slice(2).map(({ tool_call_id: id }) => id)).toEqual(["b_1", "a_0", "a_2"]);
  });

  it("is sampled as the mode says, with what was asked in the record", async () => {
    const generationConfig = {
      temperature: 1,
      topP: 0.95,
      topK: 64,
      seed: 3,
      thinkingConfig: { thinkingBudget: 8192 },
    };
    await generate({ contents: [user("hi")], generationConfig, safetySettings: [], labels: {} });
    expect(client.engine.requests[0]?.sampling).toEqual({ temperature: 1, topP: 1, topK: 0, minP: 0 });
    expect((await client.calls("r"))[0]?.overridden).toEqual({
      top_p: 0.95,
      top_k: 64,
      seed: 3,
      thinkingConfig: { thinkingBudget: 8192 },
    });
  });
});

describe("addresses and keys", () => {
  it("take a key in a header or in the address, and any model's name", async () => {
    const key = await client.app.issueKey("r", "0");
    const body = JSON.stringify({ contents: [user("hi")] });
    const call = (path: string, headers: Record<string, string>) =>
      client.app.request(`http://gateway${path}`, { method: "POST", body, headers });
    const header = await call("/v1beta/models/gemini-2.5-pro:generateContent", { "x-goog-api-key": key });
    const query = await call(`/v1alpha/models/a%2Fb:generateContent?key=${encodeURIComponent(key)}`, {});
    const stable = await call("/v1/models/x:generateContent", { authorization: `Bearer ${key}` });
    expect([header.status, query.status, stable.status]).toEqual([200, 200, 200]);
    expect(await client.calls("r")).toHaveLength(3);
    const none = await call("/v1beta/models/x:generateContent?key=wrong", {});
    expect([none.status, await none.json()]).toMatchObject([401, { error: { code: 401, status: "UNAUTHENTICATED" } }]);
  });

  it("count a prompt's tokens", async () => {
    const counted = async (body: Json) => (await (await client.post(`${base}:countTokens`, body)).json()) as Json;
    const { usageMetadata } = await generate({ contents: [user("hi")], tools });
    expect(await counted({ contents: [user("hi")] })).toEqual({ totalTokens: 19 });
    expect(await counted({ generateContentRequest: { contents: [user("hi")], tools } })).toEqual({
      totalTokens: usageMetadata.promptTokenCount,
    });
  });

  it("list the models", async () => {
    const list = (await (await client.get("/v1beta/models")).json()) as { models: Json[] };
    expect(list.models).toEqual([
      {
        name: "models/m",
        version: "1",
        displayName: "m",
        inputTokenLimit: 4096,
        outputTokenLimit: 4096,
        supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"],
      },
    ]);
    expect(await (await client.get("/v1beta/models/m")).json()).toEqual(list.models[0]);
    const missing = await client.get("/v1beta/models/other");
    expect([missing.status, await missing.json()]).toMatchObject([404, { error: { status: "NOT_FOUND" } }]);
  });
});

describe("refusals", () => {
  it("stand in Google's form", async () => {
    const refusal = async (path: string, body: unknown) => {
      const response = await client.post(path, body);
      const { error } = (await response.json()) as { error: Json };
      expect(error.code).toBe(response.status);
      return [error.code, error.status, error.message];
    };
    const call = `${base}:generateContent`;
    expect(await refusal(call, {})).toEqual([
      400,
      "INVALID_ARGUMENT",
      "Missing 'contents': send at least one content.",
    ]);
    expect(await refusal(call, "{oops")).toEqual([400, "INVALID_ARGUMENT", "Invalid JSON in request body"]);
    expect(await refusal(call, { contents: [{ role: "robot", parts: [] }] })).toEqual([
      400,
      "INVALID_ARGUMENT",
      `Invalid 'contents.0.role': expected "user" or "model", got "robot".`,
    ]);
    expect(await refusal(call, { contents: [user("a"), { role: "model", parts: [{ text: "b" }] }] })).toEqual([
      400,
      "INVALID_ARGUMENT",
      "The conversation ends with a turn of the model, and this model does not complete one. End it with a user's turn.",
    ]);
    expect(await refusal(call, { contents: [user("a".repeat(5000))] })).toEqual([
      400,
      "INVALID_ARGUMENT",
      "The input token count (5017) exceeds the maximum number of tokens allowed (4095).",
    ]);
    expect(await refusal(`${base}:embedContent`, { contents: [user("a")] })).toEqual([
      404,
      "NOT_FOUND",
      'The method "embedContent" is not served. Call generateContent, streamGenerateContent, countTokens.',
    ]);
  });
});
