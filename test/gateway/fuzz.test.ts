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

it("chat completions answer 200 or an OpenAI error, and report nothing", async () => {
  const client = new AppClient();
  await client.create("r");
  await fc.assert(
    fc.asyncProperty(mutations(valid), async (body) => {
      const response = await client.post("/r/r/0/train/v1/chat/completions", JSON.stringify(body) ?? "");
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
