/** Requests that no program should send: each is answered in the protocol's form, and nothing inside breaks. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { AppClient } from "./app_client.ts";

const valid = {
  model: "m",
  messages: [
    { role: "system", content: "s" },
    { role: "user", content: [{ type: "text", text: "t" }] },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "1", content: "r" },
  ],
  tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
  tool_choice: "auto",
  temperature: 1,
  top_p: 1,
  max_tokens: 5,
  n: 1,
  stop: ["x"],
  stream: false,
  stream_options: { include_usage: true },
  logprobs: true,
  chat_template_kwargs: { a: 1 },
  return_token_ids: true,
};

const validResponse = {
  model: "m",
  instructions: "s",
  input: [
    { role: "user", content: [{ type: "input_text", text: "t" }] },
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "h" }], encrypted_content: "eA==" },
    { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "a" }] },
    { type: "function_call", id: "fc_1_0", call_id: "1", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "1", output: "r" },
  ],
  tools: [{ type: "function", name: "f", parameters: { type: "object" }, strict: true }, { type: "web_search" }],
  tool_choice: "auto",
  parallel_tool_calls: true,
  temperature: 1,
  top_p: 1,
  max_output_tokens: 5,
  stream: false,
  include: ["reasoning.encrypted_content"],
  reasoning: { summary: "auto" },
  text: { format: { type: "text" } },
  truncation: "disabled",
  previous_response_id: null,
};

const validMessages = {
  model: "m",
  max_tokens: 5,
  system: [{ type: "text", text: "s", cache_control: { type: "ephemeral" } }],
  messages: [
    { role: "user", content: [{ type: "text", text: "t" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "h", signature: "c2ln" },
        { type: "text", text: "a" },
        { type: "tool_use", id: "toolu_1", name: "f", input: { x: 1 } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "r" }] },
        { type: "document", source: { type: "content", content: [{ type: "text", text: "d" }] } },
      ],
    },
    { role: "system", content: "n" },
  ],
  tools: [{ name: "f", description: "d", input_schema: { type: "object" } }],
  tool_choice: { type: "auto" },
  thinking: { type: "enabled", budget_tokens: 1024 },
  output_config: { effort: "high" },
  temperature: 1,
  top_p: 1,
  top_k: 5,
  stop_sequences: ["x"],
  stream: true,
};

const create = {
  input: { data_id: "d" },
  is_train: true,
  config: {
    timeout_seconds: 5,
    local: { agent_class: "c", env_map: { A: "b" } },
    k8s: null,
    reward: { source: "agent" },
  },
  metadata: { batch_idx: 1 },
  rollout_id: "x",
  hidden: 1,
};

/** Every place inside a value, as a path of keys. */
function places(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]))];
}

function replaced(value: unknown, path: readonly string[], by: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return by;
  if (Array.isArray(value)) return value.map((inner, at) => (String(at) === key ? replaced(inner, rest, by) : inner));
  return { ...(value as object), [key]: replaced((value as Record<string, unknown>)[key], rest, by) };
}

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(
    null,
    -1,
    1e308,
    0.5,
    "",
    "\u0000\ud800",
    [],
    {},
    [[]],
    [null],
    { __proto__: null },
    "x".repeat(5000),
  ),
);

function mutations(body: unknown): fc.Arbitrary<unknown> {
  const change = fc.tuple(fc.constantFrom(...places(body)), odd);
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) =>
    changes.reduce((now: unknown, [path, by]) => {
      const [first] = path;
      const stands = first === undefined || (typeof now === "object" && now !== null);
      return stands && places(now).some((place) => place.join("/") === path.join("/")) ? replaced(now, path, by) : now;
    }, body),
  );
}

it.each([
  ["chat/completions", valid],
  ["responses", validResponse],
])("%s answer 200 or an OpenAI error, and report nothing", async (path, request) => {
  const client = new AppClient();
  await client.create("r");
  await fc.assert(
    fc.asyncProperty(mutations(request), async (body) => {
      const response = await client.post(`/r/r/0/train/v1/${path}`, JSON.stringify(body) ?? "");
      const text = await response.text();
      expect([200, 400], `${text} for ${JSON.stringify(body)}`).toContain(response.status);
      if (response.status === 400) {
        expect(JSON.parse(text)).toEqual({
          error: {
            message: expect.any(String),
            type: "invalid_request_error",
            param: expect.toSatisfy(() => true),
            code: expect.any(String),
          },
        });
      }
    }),
    { numRuns: 400 },
  );
  expect(client.faults).toEqual([]);
});

it("messages, and counts of them, answer 200 or an Anthropic error, and report nothing", async () => {
  const client = new AppClient();
  await client.create("r");
  await fc.assert(
    fc.asyncProperty(mutations(validMessages), fc.boolean(), async (body, isCount) => {
      const path = `/r/r/0/train/v1/messages${isCount ? "/count_tokens" : ""}`;
      const response = await client.post(path, JSON.stringify(body) ?? "");
      const text = await response.text();
      expect([200, 400], `${text} for ${JSON.stringify(body)}`).toContain(response.status);
      if (response.status === 400) {
        expect(JSON.parse(text)).toEqual({
          type: "error",
          error: {
            type: "invalid_request_error",
            message: expect.any(String),
            details: expect.objectContaining({ error_code: expect.any(String) }),
          },
        });
      } else if (!isCount && response.headers.get("content-type")?.startsWith("text/event-stream")) {
        expect(text).toMatch(/event: message_stop\ndata: {"type":"message_stop"}\n\n$/);
      }
    }),
    { numRuns: 400 },
  );
  expect(client.faults).toEqual([]);
});

it("rollouts, patches, events, models and pauses answer 2xx, 404, 409 or 422 with details", async () => {
  const client = new AppClient();
  await client.create("r");
  const routes: [string, string, unknown][] = [
    ["POST", "/api/rollouts", [create]],
    [
      "PATCH",
      "/api/rollouts/r",
      { status: { state: "running", last_attempt_id: "0", error_message: "e", k8s_job_name: "j" } },
    ],
    ["POST", "/api/rollouts/r/attempt/0/events", { event_type: "reward", data: { value: 1 }, event_id: "e" }],
    ["POST", "/api/models", [{ model: "q", endpoint: "http://x", version: 1 }]],
    ["POST", "/proxy/pause", { retry_after_seconds: 1, reason: "r" }],
  ];
  for (const [method, path, body] of routes) {
    await fc.assert(
      fc.asyncProperty(mutations(body), async (mutated) => {
        const response = await client.send(method, path, JSON.stringify(mutated) ?? "");
        const text = await response.text();
        // Metadata of a wrong type is a 500 in Agent Lightning; it is the only one.
        const isMetadata =
          response.status === 500 && path === "/api/rollouts" && /metadata/.test(JSON.stringify(mutated));
        if (isMetadata) return;
        expect([200, 201, 409, 422], `${text} for ${JSON.stringify(mutated)}`).toContain(response.status);
        if (response.status >= 400) expect(JSON.parse(text)).toHaveProperty("detail");
      }),
      { numRuns: 80 },
    );
  }
});

it("a body nested past all sense is refused or answered, and the next one served", async () => {
  const client = new AppClient();
  await client.create("r");
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  for (const body of [deep, `{"messages":${deep}}`, `{"messages":[{"role":"user","content":"x"}],"deep":${deep}}`]) {
    expect((await client.post("/r/r/0/train/v1/chat/completions", body)).status).toBeGreaterThanOrEqual(400);
  }
  expect((await client.post("/api/rollouts", `[{"input":${deep}}]`)).status).toBeGreaterThanOrEqual(400);
  expect((await client.ask("r", "hi")).choices[0]?.message.content).toBe("ok");
});
