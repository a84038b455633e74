/** OpenAI Responses over a fake model: what replies and streams say, what is read again, what is refused. */
import { beforeEach, describe, expect, it } from "vitest";
import type { CallRecord } from "../../src/schema/store.ts";
import { AppClient } from "./app_client.ts";

type Json = Record<string, unknown>;

const path = "/r/r/0/train/v1/responses";
const add = { type: "function", name: "add", description: "Adds.", parameters: { type: "object" }, strict: true };

let client: AppClient;
beforeEach(async () => {
  client = new AppClient();
  await client.create("r");
});

async function ask(body: Json): Promise<Json> {
  const response = await client.post(path, body);
  const json = (await response.json()) as Json;
  expect(response.status, JSON.stringify(json)).toBe(200);
  return json;
}

async function stream(body: Json): Promise<Json[]> {
  const response = await client.post(path, { ...body, stream: true });
  expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
  const blocks = (await response.text()).split("\n\n").slice(0, -1);
  return blocks.map((block) => {
    const [name = "", data = "", ...more] = block.split("\n");
    const event = JSON.parse(data.slice("data: ".length)) as Json;
    expect([name, more]).toEqual([`event: ${event.type}`, []]);
    return event;
  });
}

const everything = '<think>Hm.</think>I add.<call>add {"a": 1}</call><call>add {"a": 2}</call>';

describe("a response", () => {
  it("shows thinking, text and calls as items whose ids name the recorded call", async () => {
    client.engine.script = () => everything;
    const response = await ask({
      input: "hi",
      tools: [add],
      include: ["reasoning.encrypted_content"],
      store: false,
      temperature: 0.5,
    });
    const [call] = await client.calls("r");
    const id = call?.id;
    expect(response).toMatchObject({
      id: `resp_${id}`,
      object: "response",
      status: "completed",
      model: "m",
      error: null,
      incomplete_details: null,
      store: false,
      tools: [add],
      output: [
        { id: `rs_${id}`, type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] },
        {
          id: `msg_${id}`,
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "I add.", annotations: [], logprobs: [] }],
        },
        { id: `fc_${id}_0`, type: "function_call", name: "add", arguments: '{"a": 1}', status: "completed" },
        { id: `fc_${id}_1`, type: "function_call", name: "add", arguments: '{"a": 2}' },
      ],
    });
    const output = response.output as Json[];
    expect(output[0]?.encrypted_content).toEqual(expect.stringMatching(/^[A-Za-z0-9+/]+=*$/));
    expect(new Set(output.slice(2).map((item) => item.call_id)).size).toBe(2);
    const { replyIds, promptIds } = call?.tokens ?? { replyIds: [], promptIds: [] };
    expect(response.usage).toEqual({
      input_tokens: promptIds.length,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: everything.length + 1,
      output_tokens_details: { reasoning_tokens: "<think>Hm.".length },
      total_tokens: promptIds.length + replyIds.length,
    });
    expect(call).toMatchObject({ dialect: "responses", finishReason: "completed", response });
  });

  it("without thinking or calls is one message, even an empty one", async () => {
    client.engine.script = () => "";
    const { output } = await ask({ input: "hi", tools: [add] });
    expect(output).toMatchObject([{ type: "message", content: [{ text: "" }] }]);
  });

  it("that was cut is incomplete", async () => {
    client.engine.script = () => "abcdef";
    const response = await ask({ input: "hi", max_output_tokens: 3 });
    expect(response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ status: "incomplete", content: [{ text: "abc" }] }],
    });
    expect((await client.calls("r"))[0]?.finishReason).toBe("max_output_tokens");
    const events = await stream({ input: "hi", max_output_tokens: 3 });
    expect(events.at(-1)?.type).toBe("response.incomplete");
  });

  it("shows log-probabilities when they are included", async () => {
    const { output } = await ask({ input: "hi", include: ["message.output_text.logprobs"] });
    expect(output).toMatchObject([
      { content: [{ logprobs: [{ token: "o", logprob: -1 / 8 }, { token: "k" }, { token: "<stop>" }] }] },
    ]);
  });
});

describe("a stream", () => {
  it("numbers its events, fills every item, and ends with the whole response", async () => {
    client.engine.script = () => everything;
    const events = await stream({ input: "hi", tools: [add] });
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
    const item = (...between: string[]) => ["output_item.added", ...between, "output_item.done"];
    const call = item("function_call_arguments.delta", "function_call_arguments.done");
    expect(events.map((event) => String(event.type).replace("response.", ""))).toEqual([
      "created",
      "in_progress",
      ...item(
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
      ),
      ...item("content_part.added", "output_text.delta", "output_text.done", "content_part.done"),
      ...call,
      ...call,
      "completed",
    ]);
    expect(events[0]?.response).toMatchObject({ status: "in_progress", output: [], usage: null });
    const [record] = await client.calls("r");
    expect(events.at(-1)?.response).toEqual(record?.response);
    const { output } = (record as CallRecord).response as { output: Json[] };
    const done = events.filter((event) => event.type === "response.output_item.done");
    expect(done.map((event) => [event.output_index, event.item])).toEqual([...output.entries()]);
    const deltas = events.filter((event) => String(event.type).endsWith(".delta"));
    expect(deltas.map((event) => [event.item_id, event.delta])).toEqual([
      [output[0]?.id, "Hm."],
      [output[1]?.id, "I add."],
      [output[2]?.id, '{"a": 1}'],
      [output[3]?.id, '{"a": 2}'],
    ]);
  });
});

describe("the prompt", () => {
  const prompt = () => String.fromCharCode(...(client.engine.requests.at(-1)?.promptIds ?? []));

  it("has instructions first, text however it was sent, and function tools as chat completions have them", async () => {
    const input = [
      { role: "developer", content: "d" },
      { type: "message", role: "user", content: [{ type: "input_text", text: "u", detail: 1 }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "a", annotations: [] }] },
      { type: "function_call", call_id: "x", name: "add", arguments: "{oops" },
      { type: "function_call_output", call_id: "x", output: [{ type: "input_text", text: "5" }] },
    ];
    await ask({ instructions: "be", input, tools: [add] });
    const { strict: _, type: __, ...definition } = add;
    const tools = JSON.stringify([{ type: "function", function: definition }]);
    expect(prompt()).toBe(
      `{tools ${tools}}[system]be[developer]d[user]u[assistant]a<call>add {oops</call>\0[tool]5[assistant]`,
    );
    await ask({ input: "hi", tools: [add], tool_choice: "none" });
    expect(prompt()).toBe("[user]hi[assistant]");
  });

  it("leaves out what the model has not, and the record says so", async () => {
    const search = { type: "web_search", external_web_access: true };
    const searched = { type: "web_search_call", id: "ws_1", status: "completed" };
    const format = { type: "json_schema", name: "a", schema: {} };
    const body = {
      input: [{ role: "user", content: "hi" }, searched],
      tools: [search, { type: "custom", name: "c" }],
      tool_choice: "required",
      parallel_tool_calls: false,
      text: { format },
      truncation: "auto",
    };
    expect(await ask(body)).toMatchObject({ text: { format: { type: "text" } } });
    expect(prompt()).toBe("[user]hi[assistant]");
    const [call] = await client.calls("r");
    expect(call?.overridden).toEqual({
      "tools.web_search": [search],
      "tools.custom": [{ type: "custom", name: "c" }],
      "input.web_search_call": [searched],
      tool_choice: "required",
      parallel_tool_calls: false,
      text: { format },
      truncation: "auto",
    });
    expect(call?.request).toMatchObject({ input: body.input, tools: body.tools });
  });

  it("takes what real harnesses send beside it", async () => {
    const body = {
      input: "hi",
      text: {},
      include: [],
      reasoning: { effort: "medium", summary: "auto" },
      tool_choice: "auto",
      parallel_tool_calls: true,
      client_metadata: { a: 1 },
      prompt_cache_key: "x",
      drop_params: true,
    };
    await ask(body);
    expect((await client.calls("r"))[0]?.overridden).toEqual({});
  });
});

describe("GET /v1/responses", () => {
  it("gives a response again, to its own attempt", async () => {
    const response = await ask({ input: "hi" });
    expect(await (await client.get(`${path}/${response.id}`)).json()).toEqual(response);
    const key = await client.app.issueKey("r", "0");
    expect(await (await client.get(`/v1/responses/${response.id}`, key)).json()).toEqual(response);
    await client.create("other");
    const others = ["/r/other/0/train/v1/responses", "/r/r/1/train/v1/responses", "/v1/responses"];
    for (const other of others) {
      const refused = await client.get(`${other}/${response.id}`);
      expect([refused.status, await refused.json()]).toMatchObject([404, { error: { code: "response_not_found" } }]);
    }
    expect((await client.get(`${path}/resp_zz`)).status).toBe(404);
    expect((await client.get(`${path}/${response.id}`, "wrong")).status).toBe(401);
    expect((await client.get(`${path}/${response.id}?stream=true`)).status).toBe(400);
  });

  it("refuses WebSockets, so that clients go on with POST", async () => {
    const headers = { connection: "Upgrade", upgrade: "websocket" };
    const refused = await client.send("GET", path, undefined, "admin", { headers });
    expect([refused.status, await refused.json()]).toMatchObject([426, { error: { code: "upgrade_refused" } }]);
    expect((await client.get(path)).status).toBe(405);
  });
});

describe("refusals", () => {
  const refusal = (body: unknown) => client.refusal(path, body);

  it.each([
    [{}, "input", "Invalid 'input': nothing was said. Send a text or a list of items."],
    [{ input: [] }, "input", "Invalid 'input': nothing was said. Send a text or a list of items."],
    [{ input: 5 }, "input", "Invalid 'input': expected a text or a list of items."],
    [{ input: [null] }, "input.0", /^Invalid 'input\.0': /],
    [{ input: [{ role: "robot", content: "" }] }, "input.0.role", /^Invalid 'input\.0\.role': /],
    [{ input: [{ type: "function_call", name: "f", arguments: "" }] }, "input.0.call_id", /^Invalid /],
    [{ input: "hi", tools: {} }, "tools", "Invalid 'tools': expected a list of tools."],
    [{ input: "hi", tools: [{ type: "function" }] }, "tools.0.name", /^Invalid 'tools\.0\.name': /],
    [{ input: "hi", instructions: 5 }, "instructions", "Invalid 'instructions': expected a text."],
    [{ input: "hi", max_output_tokens: 0 }, "max_output_tokens", /expected a number at least 1, got 0/],
    [{ input: "hi", temperature: -1 }, "temperature", /expected a number at least 0, got -1/],
  ])("%j names %s", async (body, param, message) => {
    const { status, error } = await refusal(body);
    expect([status, error]).toMatchObject([400, { type: "invalid_request_error", param, code: "invalid_value" }]);
    expect(error.message).toMatch(message);
  });

  it("say what is not there, and what is not served", async () => {
    for (const id of ["resp_000000", "chatcmpl-1", 5]) {
      expect(await refusal({ input: "hi", previous_response_id: id })).toMatchObject({
        status: 400,
        error: { code: "previous_response_not_found", param: "previous_response_id" },
      });
    }
    for (const id of ["msg_000000", "rs_0", "fc_0_0", "x"]) {
      const { status, error } = await refusal({ input: [{ type: "item_reference", id }] });
      expect([status, error]).toMatchObject([400, { code: "item_not_found", param: "input" }]);
      expect(error.message).toContain(`'${id}'`);
    }
    for (const name of ["conversation", "prompt"]) {
      expect(await refusal({ input: "hi", [name]: "x" })).toMatchObject({
        status: 400,
        error: { code: "unsupported_parameter", param: name },
      });
    }
    client.engine.contextLength = 5;
    expect(await refusal({ input: "hello" })).toMatchObject({
      status: 400,
      error: { code: "context_length_exceeded", param: "input" },
    });
  });

  it("of a failed generation come before a stream begins", async () => {
    client.engine.script = () => new Error("broken");
    const refused = await client.post(path, { input: "hi", stream: true });
    expect([refused.status, await refused.json()]).toMatchObject([500, { error: { type: "server_error" } }]);
  });
});
