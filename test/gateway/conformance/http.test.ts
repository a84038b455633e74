/** Facts 1 to 11 of the conformance plan: what every client needs of HTTP, whatever dialect it speaks. */
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { itShared } from "../../shared.ts";
import { GatewayServer, type Json } from "./gateway_server.ts";
import { captured, Replay } from "./replay.ts";
import { failed, hi, least, nextDraw, paths, streamed } from "./requests.ts";

const server = new GatewayServer({ limits: { holdHeadersMs: 40, keepAliveMs: 20 } });
beforeAll(() => server.open());
afterAll(() => server.close());

describe("fact", () => {
  it("1: the prefix of the path is the session, in every dialect and for sub-agents", async () => {
    const [one, other] = [await server.rollout(), await server.rollout()];
    for (const [path, body] of paths) {
      expect((await server.post(one, path, body)).status, path).toBe(200);
      expect((await server.post(other, path, body)).status, path).toBe(200);
    }
    expect((await server.calls(one)).length).toBe(paths.length);
    expect((await server.calls(other)).length).toBe(paths.length);
    const subAgent = { ...hi, messages: [{ role: "system", content: "sub" }, ...hi.messages] };
    await server.post(one, "/v1/chat/completions", subAgent, { headers: { "x-claude-code-agent-id": "a" } });
    expect((await server.calls(one)).length).toBe(paths.length + 1);
  });

  it("2: a key is taken as bearer, x-api-key or x-goog-api-key in any dialect, and may be the session", async () => {
    const rollout = await server.rollout();
    const key = await server.app.issueKey(rollout, "0");
    const headers: Record<string, string>[] = [
      { authorization: `Bearer ${key}` },
      { "x-api-key": key },
      { "x-goog-api-key": key },
    ];
    for (const [path, body] of paths) {
      for (const shown of headers) {
        const init = { method: "POST", body: JSON.stringify(body), headers: shown };
        expect((await fetch(`${server.url}${path}`, init)).status, path).toBe(200);
      }
      const bad = await fetch(`${server.url}${path}`, { method: "POST", body: JSON.stringify(body) });
      expect(bad.status, path).toBe(401);
    }
    expect(await server.calls(rollout)).toHaveLength(paths.length * 3);
  });

  it("3: beta queries and versions of Anthropic's API are no matter", async () => {
    const rollout = await server.rollout();
    for (const version of ["2023-06-01", "2026-10-21"]) {
      const headers = { "anthropic-version": version, "anthropic-beta": "a,b,".repeat(200) };
      const answer = await server.post(rollout, "/v1/messages?beta=true", least["/v1/messages"], { headers });
      expect(answer.status).toBe(200);
    }
  });

  it("4: unknown fields are ignored and recorded", async () => {
    const unknown = {
      client_metadata: { a: 1 },
      drop_params: true,
      usage: { include: true },
      context_management: { edits: [] },
      prompt_cache_key: "k",
      store: false,
      metadata: { user_id: "u" },
    };
    for (const [path, body] of paths) {
      const rollout = await server.rollout();
      expect((await server.post(rollout, path, { ...body, ...unknown })).status, path).toBe(200);
      expect((await server.calls(rollout))[0]?.request, path).toMatchObject(unknown);
    }
  });

  it("5: unknown keys of messages change nothing", async () => {
    const rollout = await server.rollout();
    server.engine.texts.push("It is.");
    await server.json(rollout, "/v1/chat/completions", hi);
    const messages = [
      { role: "user", content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral" } }], name: null },
      {
        role: "assistant",
        content: "It is.",
        refusal: null,
        __copilotMessageSource: "x",
        name: "model",
        annotations: [],
      },
      { role: "user", content: "go on", __x: 1 },
    ];
    await server.json(rollout, "/v1/chat/completions", { messages });
    const [first, second] = await server.calls(rollout);
    expect([second?.parent, second?.breakReason]).toEqual([first?.id, null]);
  });

  it("6: bodies of several megabytes are taken", async () => {
    const rollout = await server.rollout();
    for (const [path, body] of paths) {
      const { status } = await server.post(rollout, path, { ...body, metadata: { log: "line ".repeat(1_500_000) } });
      expect(status, path).toBe(200);
    }
  });

  it("7: no schema of a tool is refused", async () => {
    const parameters = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        a: { anyOf: [{ type: "string", pattern: "^x", minLength: 1 }, { type: "null" }], default: null },
        b: {
          oneOf: [
            { type: "integer", exclusiveMinimum: 0 },
            { type: "array", items: {}, maxItems: 3 },
          ],
        },
        c: { enum: ["x", 1, null], $ref: "#/$defs/d" },
      },
      $defs: { d: true },
      additionalProperties: false,
    };
    const rollout = await server.rollout();
    const named = { name: "f", description: null };
    const requests: [string, Json][] = [
      ["/v1/chat/completions", { ...hi, tools: [{ type: "function", function: { ...named, parameters } }] }],
      ["/v1/responses", { input: "hi", tools: [{ type: "function", ...named, parameters, strict: null }] }],
      [
        "/v1/messages",
        { ...hi, tools: [{ ...named, description: "d", input_schema: parameters, defer_loading: true }] },
      ],
      [
        "/v1beta/models/m:generateContent",
        {
          ...least["/v1beta/models/m:generateContent"],
          tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: parameters }] }],
        },
      ],
    ];
    for (const [path, body] of requests) expect((await server.post(rollout, path, body)).status, path).toBe(200);
    for (const { request } of await server.calls(rollout))
      expect(JSON.stringify(request)).toContain("exclusiveMinimum");
  });

  it("8: the same prompt after a failure is a new attempt, and the failed one no turn", async () => {
    const rollout = await server.rollout();
    nextDraw(server, failed);
    expect((await server.post(rollout, "/v1/chat/completions", hi)).status).toBe(500);
    server.faults.length = 0;
    expect((await server.post(rollout, "/v1/chat/completions", hi)).status).toBe(200);
    const calls = await server.calls(rollout);
    expect(calls.map(({ callKey, breakReason }) => [callKey.split(".")[1], breakReason])).toEqual([["0", null]]);
    expect(await server.store.failures(rollout)).toMatchObject([{ code: "internal", httpStatus: 500 }]);
  });

  it("9 and 10: load is answered 503 with a small Retry-After before any byte of a body, and never 4xx", async () => {
    const small = new GatewayServer({ limits: { waitingCalls: 1 } });
    await small.open();
    const rollout = await small.rollout();
    const held = Promise.withResolvers<void>();
    const { generate } = small.engine;
    small.engine.generate = async (request) => {
      await held.promise;
      return await generate.call(small.engine, request);
    };
    const first = small.post(rollout, "/v1/chat/completions", hi);
    await expect.poll(() => small.app.waitingCalls(rollout, "0")).toBe(1);
    for (const [path, body] of [...paths, ...Object.entries(streamed)]) {
      const refused = await small.post(rollout, path, body);
      expect([refused.status, refused.headers.get("retry-after")], path).toEqual([503, "1"]);
      expect(refused.text, path).toMatch(/overloaded|UNAVAILABLE/);
    }
    held.resolve();
    expect((await first).status).toBe(200);
    await small.close();
  });

  it("11: a generation that fails is an HTTP error, of streams too", async () => {
    for (const [path, body] of [...paths, ...Object.entries(streamed)]) {
      const rollout = await server.rollout();
      nextDraw(server, failed);
      const { status, text } = await server.post(rollout, path, body);
      expect([status, Object.hasOwn(JSON.parse(text) as Json, "error")], path).toEqual([500, true]);
    }
    server.faults.length = 0;
  });

  itShared("1 to 7, as the captures have them: headers, unknown fields, sizes", "captures/index.json", async () => {
    const requests = captured("claude24").concat(captured("codex"), captured("pi24~res"));
    const replay = new Replay(server, await server.rollout(), requests);
    await replay.playAll();
    expect((await server.calls(replay.rollout)).filter(({ parent }) => parent === null)).toHaveLength(3);
  });
});

describe("a body", () => {
  it("that arrives slowly, or breaks off, holds up nobody", async () => {
    const rollout = await server.rollout();
    const { hostname, port } = new URL(server.url);
    const open = httpRequest({
      hostname,
      port,
      method: "POST",
      path: `/r/${rollout}/0/train/v1/chat/completions`,
      headers: { "x-api-key": "admin", "content-length": "1000" },
    });
    open.on("error", () => {});
    open.write('{"messages":');
    expect((await server.post(rollout, "/v1/chat/completions", hi)).status).toBe(200);
    open.destroy();
    expect((await server.post(rollout, "/v1/chat/completions", hi)).status).toBe(200);
    expect(server.faults).toEqual([]);
  });
});
