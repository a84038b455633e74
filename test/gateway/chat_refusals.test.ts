/** Refusals of chat completions, in OpenAI's form. */
import { beforeEach, describe, expect, it } from "vitest";
import { ConfigError, LeydenError } from "../../src/core/errors.ts";
import { AppClient } from "./app_client.ts";

let client: AppClient;
beforeEach(async () => {
  client = new AppClient();
  await client.create("r");
});

const user = (content: unknown) => ({ messages: [{ role: "user", content }] });
const refusal = (body: unknown) => client.refusal("/r/r/0/train/v1/chat/completions", body);

describe("refusals", () => {
  const invalid = (param: string | null, message: string | RegExp) => ({
    status: 400,
    error: {
      type: "invalid_request_error",
      param,
      message: typeof message === "string" ? message : expect.stringMatching(message),
      code: expect.any(String),
    },
  });

  it("name the field and what it should be", async () => {
    const messages = user("x").messages;
    const cases: [unknown, string | null, string | RegExp][] = [
      ["{oops", null, "Invalid JSON in request body"],
      ["[1]", null, "The request body must be a JSON object."],
      ["", "messages", "Missing required parameter: 'messages', a list of messages."],
      [{ messages: [] }, "messages", "Invalid 'messages': the list is empty. Send at least one message."],
      [{ messages: [{ role: "robot" }] }, "messages.0.role", /^Invalid 'messages.0.role'/],
      [{ messages: ["x"] }, "messages.0", /^Invalid 'messages.0'/],
      [{ messages, temperature: -1 }, "temperature", "Invalid 'temperature': expected a number at least 0, got -1."],
      [{ messages, top_p: 1.5 }, "top_p", "Invalid 'top_p': expected a number between 0 and 1, got 1.5."],
      [{ messages, max_tokens: 0 }, "max_tokens", "Invalid 'max_tokens': expected a number at least 1, got 0."],
      [{ messages, max_tokens: 1.5 }, "max_tokens", /whole number/],
      [{ messages, n: 1000 }, "n", "Invalid 'n': expected a whole number from 1 to 128, got 1000."],
      [{ messages, stop: [1] }, "stop", "Invalid 'stop': expected a text or a list of texts."],
      [
        { messages, response_format: { type: "json_schema", json_schema: { name: "a", schema: "text" } } },
        "response_format.json_schema.schema",
        "Invalid 'response_format.json_schema.schema': expected a JSON schema, an object.",
      ],
      [
        { messages, functions: [{ name: "add" }] },
        "functions",
        "'functions' is not supported: 'tools' took its place. Offer the functions there.",
      ],
      [{ messages, tools: {} }, "tools", "Invalid 'tools': expected a list of tools."],
      [{ messages, tools: [{ type: "function" }] }, "tools.0.function", /^Invalid 'tools.0.function'/],
    ];
    for (const [body, param, message] of cases)
      expect(await refusal(body), String(message)).toEqual(invalid(param, message));
    expect(client.engine.requests).toEqual([]);
  });

  it("of sampling settings that only the engine knows the bounds of are the client's", async () => {
    client.engine.generate = async () => {
      throw new ConfigError("temperature must lie in 0..100, got 1000.");
    };
    const refused = await client.refusal("/v1/chat/completions", { ...user("x"), temperature: 1000 });
    expect(refused).toEqual(invalid(null, "temperature must lie in 0..100, got 1000."));
    expect(client.faults).toEqual([]);
  });

  it("of what the engine finds no reply for are the client's", async () => {
    for (const code of ["token_out_of_range", "constraint_dead_end"]) {
      client.engine.generate = async () => {
        throw new LeydenError(code, "It cannot be answered.", { do: "Ask otherwise." });
      };
      const refused = await client.refusal("/v1/completions", { prompt: [1] });
      expect(refused).toMatchObject({ status: 400, error: { type: "invalid_request_error", code } });
    }
    expect(client.faults).toEqual([]);
  });

  it("of bodies nested too deeply come in the dialect's form, wherever they nest", async () => {
    const message = "The request body is nested deeper than 1000 levels. Send a flatter one.";
    const nested = (levels: number) => `${"[".repeat(levels)}"[\\"["${"]".repeat(levels)}`;
    const bodies = [
      ["/v1/chat/completions", '"messages":[{"role":"user","content":"x"}]'],
      ["/v1/responses", '"input":"x"'],
      ["/v1/messages", '"max_tokens":9,"messages":[{"role":"user","content":"x"}]'],
      ["/v1beta/models/m:generateContent", '"contents":[{"parts":[{"text":"x"}]}]'],
    ] as const;
    for (const [path, body] of bodies) {
      const refused = await client.post(path, `{${body},"metadata":${nested(20_000)}}`);
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({ error: { message } });
      expect((await client.post(path, `{${body},"metadata":${nested(900)}}`)).status).toBe(200);
    }
    const rollouts = await client.post("/api/rollouts", `[{"rollout_id":"x","input":{"a":${nested(20_000)}}}]`);
    expect({ status: rollouts.status, body: await rollouts.json() }).toEqual({
      status: 422,
      body: { detail: message },
    });
    expect(client.faults).toEqual([]);
  });

  it("do not meet top_p 0, which keeps the most likely token alone", async () => {
    expect((await client.post("/v1/chat/completions", { ...user("x"), top_p: 0 })).status).toBe(200);
    expect(client.engine.requests[0]?.sampling.topP).toBe(1e-9);
  });

  it("of a body that breaks off are no fault of the gateway", async () => {
    const init = { method: "POST", duplex: "half", headers: { authorization: "Bearer admin" } } as RequestInit;
    for (const path of ["/v1/chat/completions", "/api/rollouts"]) {
      const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("aborted")) });
      const response = await client.app.request(`http://gateway${path}`, { ...init, body: broken });
      expect(response.status).toBe(499);
    }
    expect(client.faults).toEqual([]);
  });

  it("of the template are the client's", async () => {
    expect(await refusal(user("{%"))).toMatchObject({
      status: 400,
      error: { code: "template_error", message: "The chat template failed: unexpected {%." },
    });
  });

  it("of a body that is too long come before anything else", async () => {
    const small = new AppClient({ limits: { bodyBytes: 100 } });
    const long = { ...user("x".repeat(200)) };
    const response = await small.post("/v1/chat/completions", long);
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({
      error: { code: "request_too_large", message: "The request body is longer than 100 bytes." },
    });
    const stream = new Blob([JSON.stringify(long)]).stream();
    const chunked = { body: stream, duplex: "half" } as RequestInit;
    expect((await small.post("/v1/chat/completions", undefined, "admin", chunked)).status).toBe(413);
    const listed = await small.post("/api/rollouts", [{ input: "x".repeat(200) }]);
    expect([listed.status, await listed.json()]).toEqual([
      413,
      { detail: "The request body is longer than 100 bytes." },
    ]);
  });

  it("hide what went wrong inside, and report it", async () => {
    client.engine.script = () => new TypeError("secret detail");
    expect(await refusal(user("hi"))).toEqual({
      status: 500,
      error: {
        message: "The gateway failed to answer this call.",
        type: "server_error",
        param: null,
        code: "internal",
      },
    });
    expect(client.faults).toMatchObject([{ message: "secret detail" }]);
    expect(await client.store.failures("r")).toMatchObject([{ code: "internal", httpStatus: 500 }]);
  });
});
