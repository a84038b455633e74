/** Forms that no reply can have, or that would take too long to compile: 400 in each dialect's shape, with the place. */
import { describe, expect, it } from "vitest";
import type { GenerateRequest, GenerateResult } from "../../src/schema/engine.ts";
import { constraints } from "../text/grammar_draws.ts";
import { AppClient } from "./app_client.ts";
import { FakeEngine } from "./fake_model.ts";

/** Compiles what a reply must match, as an engine does, and answers as ever. */
class CompilingEngine extends FakeEngine {
  override async generate(request: GenerateRequest): Promise<GenerateResult> {
    if (request.constraint) (await constraints.compile(request.constraint)).dispose();
    return await super.generate(request);
  }
}

const client = new AppClient({}, { engine: new CompilingEngine() });
const messages = [{ role: "user", content: "hi" }];

/** Requests that ask for a schema, by the path they go to. */
const asked: Readonly<Record<string, (schema: object) => object>> = {
  "/v1/chat/completions": (schema) => ({
    messages,
    response_format: { type: "json_schema", json_schema: { name: "x", strict: true, schema } },
  }),
  "/v1/responses": (schema) => ({
    input: "hi",
    text: { format: { type: "json_schema", name: "x", strict: true, schema } },
  }),
  "/v1/messages": (schema) => ({
    messages,
    max_tokens: 9,
    output_config: { format: { type: "json_schema", schema } },
  }),
  "/v1beta/models/m:generateContent": (schema) => ({
    contents: [{ role: "user", parts: [{ text: "hi" }] }],
    generationConfig: { responseMimeType: "application/json", responseJsonSchema: schema },
  }),
};

const openAi = (message: string) => ({
  error: { message, type: "invalid_request_error", param: null, code: "config" },
});
const shapes: Readonly<Record<string, (message: string) => object>> = {
  "/v1/chat/completions": openAi,
  "/v1/responses": openAi,
  "/v1/messages": (message) => ({
    type: "error",
    error: { type: "invalid_request_error", message, details: { error_code: "config" } },
  }),
  "/v1beta/models/m:generateContent": (message) => ({
    error: { code: 400, message, status: "INVALID_ARGUMENT", details: [{ reason: "config" }] },
  }),
};

const property = (a: object) => ({ type: "object", properties: { a }, required: ["a"], additionalProperties: false });

describe.each(Object.keys(asked))("POST %s", (path) => {
  it.each([
    [{ allOf: [{ const: 1 }, { const: 2 }] }, "schema.properties.a.allOf asks for 1 and 2 at once. Nothing is both."],
    [
      { type: "integer", minimum: 3, maximum: 2 },
      "schema.properties.a has minimum 3 above maximum 2. Make them agree.",
    ],
    [{ enum: [] }, "schema.properties.a.enum is empty, so nothing fits it. List at least one choice."],
    [
      { type: "string", pattern: "^((a{1,1000}){1,1000}){1,1000}$" },
      "schema.properties.a.pattern repeats what is itself repeated: 1000000000 parts when written out, more than 10000. Ask for less, or bound the length by maxLength.",
    ],
  ])("refuses %j", async (schema, what) => {
    const response = await client.post(path, asked[path]?.(property(schema)));
    expect(response.status).toBe(400);
    const message = `The JSON schema of the reply cannot be followed: ${what}`;
    expect(await response.json()).toMatchObject(shapes[path]?.(message) ?? {});
  });

  it("answers others", async () => {
    expect(
      (await client.post(path, asked[path]?.(property({ allOf: [{ type: "integer" }, { minimum: 2 }] })))).status,
    ).toBe(200);
  });
});
