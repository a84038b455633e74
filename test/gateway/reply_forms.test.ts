/**
 * What a reply has to be, as each dialect asks for it: tools that must be called, one call at most, JSON. The engine gets
 * it as a constraint; where no grammar sees to it, the record says so.
 */
import { beforeEach, describe, expect, it } from "vitest";
import type { ConstraintSpec } from "../../src/schema/token_constraint.ts";
import { AppClient } from "./app_client.ts";

type Json = Record<string, unknown>;

const schema = { type: "object", properties: { a: { type: "integer" } } };
const definition = { name: "add", description: "Adds.", parameters: schema };
const chatTools = [
  { type: "function", function: definition },
  { type: "function", function: { name: "sub" } },
];
const callable = [
  { name: "add", parameters: schema },
  { name: "sub", parameters: {} },
];

let client: AppClient;
beforeEach(async () => {
  client = new AppClient();
  await client.create("r");
});

const bodies: Readonly<Record<string, Json>> = {
  "chat/completions": { messages: [{ role: "user", content: "hi" }], tools: chatTools },
  responses: {
    input: "hi",
    tools: [
      { type: "function", ...definition },
      { type: "function", name: "sub" },
    ],
  },
  messages: {
    messages: [{ role: "user", content: "hi" }],
    tools: [
      { name: "add", description: "Adds.", input_schema: schema },
      { name: "sub", input_schema: {} },
    ],
  },
  "models/m:generateContent": {
    contents: [{ role: "user", parts: [{ text: "hi" }] }],
    tools: [
      {
        functionDeclarations: [{ ...definition, parameters: undefined, parametersJsonSchema: schema }, { name: "sub" }],
      },
    ],
  },
};

/** The constraint that the engine gets of a request. */
async function constraint(path: string, more: Json): Promise<ConstraintSpec | undefined> {
  const response = await client.post(`/r/r/0/train/v1/${path}`, { ...bodies[path], ...more });
  expect(response.status, await response.clone().text()).toBe(200);
  return client.engine.requests.at(-1)?.constraint;
}

async function ask(path: string, body: Json): Promise<Json & { output: Json[] }> {
  const response = await client.post(`/r/r/0/train/v1/${path}`, body);
  return (await response.json()) as Json & { output: Json[] };
}

const promptOf = (of: AppClient) => String.fromCharCode(...(of.engine.requests.at(-1)?.promptIds ?? []));
const one = (name: string) => callable.filter((tool) => tool.name === name);
const calls = (more: object) => ({ kind: "tool_calls", tools: callable, required: false, parallel: true, ...more });
const json = { kind: "json_schema", schema };

describe("a form is asked for", () => {
  it.each<[string, Json, unknown]>([
    ["chat/completions", {}, undefined],
    ["chat/completions", { tool_choice: "auto", response_format: { type: "text" } }, undefined],
    ["chat/completions", { tool_choice: "none" }, undefined],
    ["chat/completions", { tool_choice: "required" }, calls({ required: true })],
    [
      "chat/completions",
      { tool_choice: { type: "function", function: { name: "add" } } },
      calls({ required: true, tools: one("add") }),
    ],
    [
      "chat/completions",
      {
        tool_choice: {
          type: "allowed_tools",
          allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "sub" } }] },
        },
      },
      calls({ tools: one("sub") }),
    ],
    ["chat/completions", { parallel_tool_calls: false }, calls({ parallel: false })],
    [
      "chat/completions",
      { response_format: { type: "json_schema", json_schema: { name: "x", strict: true, schema } } },
      calls({ text: json }),
    ],
    ["chat/completions", { tools: null, response_format: { type: "json_object" } }, { kind: "json_object" }],
    ["responses", { tool_choice: "required", parallel_tool_calls: false }, calls({ required: true, parallel: false })],
    ["responses", { tool_choice: { type: "function", name: "sub" } }, calls({ required: true, tools: one("sub") })],
    ["responses", { tools: [], text: { format: { type: "json_schema", name: "x", schema } } }, json],
    ["messages", { tool_choice: { type: "any" } }, calls({ required: true })],
    ["messages", { tool_choice: { type: "tool", name: "add" } }, calls({ required: true, tools: one("add") })],
    ["messages", { tool_choice: { type: "auto", disable_parallel_tool_use: true } }, calls({ parallel: false })],
    ["messages", { tools: [], output_config: { format: { type: "json_schema", schema } } }, json],
    ["messages", { tools: [], output_format: { type: "json_schema", schema } }, json],
    [
      "models/m:generateContent",
      { toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["add"] } } },
      calls({ required: true, tools: one("add") }),
    ],
    ["models/m:generateContent", { toolConfig: { functionCallingConfig: { mode: "NONE" } } }, undefined],
    [
      "models/m:generateContent",
      { tools: [], generationConfig: { responseMimeType: "application/json", responseJsonSchema: schema } },
      json,
    ],
  ])("%s %j", async (path, more, expected) => {
    expect(await constraint(path, more)).toEqual(expected);
  });

  it("in a group of functions, which come one by one, and calls of them name the group", async () => {
    const add = { type: "function", ...definition, strict: true };
    const space = { type: "namespace", name: "n", tools: [add] };
    client.engine.script = () => "<call>add {}</call><call>sub {}</call>";
    const { output } = await ask("responses", { input: "hi", tools: [space, { type: "function", name: "sub" }] });
    expect(promptOf(client)).toContain(JSON.stringify({ type: "function", function: definition }));
    expect(output).toMatchObject([
      { type: "function_call", namespace: "n", name: "add" },
      { type: "function_call", name: "sub" },
    ]);
    expect(output[1]).not.toHaveProperty("namespace");
    expect((await client.calls("r"))[0]?.overridden).toEqual({ strict_tools: ["add"] });
  });

  it("and what no grammar saw to is recorded as not followed", async () => {
    const asked = { tool_choice: "required", response_format: { type: "json_object" } };
    await constraint("chat/completions", asked);
    client.engine.constrained = true;
    await constraint("chat/completions", asked);
    const [free, held] = await client.calls("r");
    expect([free?.overridden, free?.constrained]).toEqual([asked, undefined]);
    expect([held?.overridden, held?.constrained]).toEqual([{}, true]);
    expect(held?.request).toMatchObject(asked);
    const events = (await (await client.get("/api/rollouts/r/events")).json()) as { data: Json }[];
    expect(events[1]?.data).toMatchObject({ constrained: true });
  });

  it("and of a tool that is not offered, or in no known way, is refused", async () => {
    const refusal = async (path: string, more: Json) => {
      const response = await client.post(`/r/r/0/train/v1/${path}`, { ...bodies[path], ...more });
      return [response.status, JSON.stringify(await response.json())];
    };
    const cases: [string, Json, RegExp][] = [
      ["chat/completions", { tool_choice: { type: "function", function: { name: "x" } } }, /the tool \\"x\\" is not/],
      ["chat/completions", { tool_choice: "maybe" }, /expected \\"none\\", \\"auto\\"/],
      ["chat/completions", { response_format: { type: "yaml" } }, /Invalid 'response_format'/],
      ["responses", { tool_choice: { type: "function", name: "x" } }, /is not among the request's tools/],
      ["messages", { tool_choice: { type: "tool", name: "x" } }, /is not among the request's tools/],
      ["messages", { tool_choice: { type: "some" } }, /expected a type of/],
      [
        "models/m:generateContent",
        { toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["x"] } } },
        /is not among the request's tools/,
      ],
    ];
    for (const [path, more, message] of cases) {
      const [status, text] = await refusal(path, more);
      expect([status, text]).toEqual([400, expect.stringMatching(message)]);
    }
  });
});

describe("strict tools", () => {
  const any = { type: "object", additionalProperties: true };
  const named = (strict: unknown, other?: unknown) => ({
    tools: [
      { ...definition, strict },
      { name: "sub", parameters: schema, ...(other === undefined ? {} : { strict: other }) },
    ],
  });
  /** The same tools as each dialect writes them. */
  const tools = (path: string, { tools: list }: ReturnType<typeof named>): Json => {
    if (path === "chat/completions") return { tools: list.map((one) => ({ type: "function", function: one })) };
    if (path === "responses") return { tools: list.map((one) => ({ type: "function", ...one })) };
    return { tools: list.map(({ parameters, ...one }) => ({ ...one, input_schema: parameters })) };
  };
  const paths = ["chat/completions", "responses", "messages"];

  it.each(paths)("%s: are followed when they are called, which they need not be", async (path) => {
    expect(await constraint(path, tools(path, named(true)))).toEqual({
      kind: "tool_calls",
      tools: [
        { name: "add", parameters: schema },
        { name: "sub", parameters: any },
      ],
      required: false,
      parallel: true,
    });
    expect(await constraint(path, tools(path, named(false)))).toBeUndefined();
    expect(await constraint(path, tools(path, named(undefined)))).toBeUndefined();
  });

  it("that are not strict need not be, though a call is required", async () => {
    const asked = { ...tools("chat/completions", named(false)), tool_choice: "required" };
    expect(await constraint("chat/completions", asked)).toMatchObject({
      tools: [
        { name: "add", parameters: any },
        { name: "sub", parameters: schema },
      ],
    });
  });

  it("are recorded as overridden where no grammar saw to them", async () => {
    await constraint("chat/completions", tools("chat/completions", named(true)));
    expect((await client.calls("r")).at(-1)?.overridden).toEqual({ strict_tools: ["add"] });
  });
});

it("what a grammar does not see to of a schema is recorded, and other media are", async () => {
  client.engine.constrained = true;
  const not = { type: "object", properties: { a: { not: { type: "string" } } }, uniqueItems: true };
  const format = { type: "json_schema", json_schema: { name: "x", schema: not } };
  await constraint("chat/completions", {
    response_format: format,
    modalities: ["text", "audio"],
    audio: { voice: "x" },
  });
  expect((await client.calls("r")).at(-1)?.overridden).toEqual({
    modalities: ["text", "audio"],
    audio: { voice: "x" },
    schema_keywords: ["schema.uniqueItems", "schema.properties.a.not"],
  });
  await constraint("chat/completions", { modalities: ["text"] });
  expect((await client.calls("r")).at(-1)?.overridden).toEqual({});
});
