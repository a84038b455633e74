/**
 * Mutated requests of a dialect, sent to one of several sessions: each is answered in time with 200 or with the dialect's
 * own error, nothing unforeseen happens inside, and no session sees anything of another.
 */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { hasShared, sharedPath } from "../shared.ts";
import { AppClient } from "./app_client.ts";
import { Mutator } from "./mutator.ts";

type Json = Record<string, unknown>;

/** A dialect: where it is called, requests that are right, and what its errors look like. */
export interface FuzzedDialect {
  name: string;
  paths: readonly string[];
  /** Paths of captured requests that are of it. */
  captured: RegExp;
  requests: readonly Json[];
  isError(json: unknown, status: number): boolean;
}

const isText = (value: unknown) => typeof value === "string" && value !== "";

const openAiError = (json: unknown) => {
  const { error } = (json ?? {}) as { error?: Json };
  return (
    isText(error?.message) && isText(error?.type) && isText(error?.code) && error !== undefined && "param" in error
  );
};

const anthropicError = (json: unknown) => {
  const { type, error } = (json ?? {}) as { type?: unknown; error?: Json };
  return type === "error" && isText(error?.message) && isText(error?.type);
};

const geminiError = (json: unknown, status: number) => {
  const { error } = (json ?? {}) as { error?: Json };
  return isText(error?.message) && isText(error?.status) && error?.code === status;
};

const call = { id: "call_1", type: "function", function: { name: "f", arguments: '{"a": 1}' } };

/** Every dialect. */
export const fuzzedDialects: readonly FuzzedDialect[] = [
  {
    name: "chat completions",
    paths: ["chat/completions"],
    captured: /^\/v1\/chat\/completions/,
    isError: openAiError,
    requests: [
      {
        model: "m",
        messages: [
          { role: "system", content: "s" },
          { role: "user", content: [{ type: "text", text: "t" }] },
          { role: "assistant", content: null, reasoning_content: "h", tool_calls: [call] },
          { role: "tool", tool_call_id: "call_1", content: "r" },
        ],
        tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
        tool_choice: { type: "function", function: { name: "f" } },
        response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object" } } },
        temperature: 1,
        top_p: 1,
        max_tokens: 5,
        n: 2,
        stop: ["x"],
        stream: true,
        stream_options: { include_usage: true },
        logprobs: true,
        top_logprobs: 2,
        logit_bias: { 5: 1 },
        frequency_penalty: 0.5,
        chat_template_kwargs: { a: 1 },
        return_token_ids: true,
      },
    ],
  },
  {
    name: "completions",
    paths: ["completions"],
    captured: /^\/v1\/completions/,
    isError: openAiError,
    requests: [
      { model: "m", prompt: ["a", [97, 98]], max_tokens: 5, n: 2, stop: "x", logprobs: 2, echo: true, stream: false },
      { prompt: "once", stream: true, stream_options: { include_usage: true }, temperature: 0.5, seed: 1 },
      { prompt: [5, 6, 7], best_of: 1, suffix: null, presence_penalty: 1, logit_bias: {} },
    ],
  },
  {
    name: "responses",
    paths: ["responses"],
    captured: /^\/v1\/responses/,
    isError: openAiError,
    requests: [
      {
        model: "m",
        instructions: "s",
        input: [
          { role: "user", content: [{ type: "input_text", text: "t" }] },
          { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "h" }], encrypted_content: "eA==" },
          { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "a" }] },
          { type: "function_call", id: "fc_1_0", call_id: "1", name: "f", arguments: "{}" },
          { type: "function_call_output", call_id: "1", output: [{ type: "input_text", text: "r" }] },
        ],
        tools: [
          { type: "function", name: "f", parameters: { type: "object" } },
          { type: "namespace", name: "n", tools: [] },
        ],
        tool_choice: "required",
        parallel_tool_calls: false,
        text: { format: { type: "json_schema", name: "n", schema: {} } },
        top_logprobs: 1,
        stream: true,
        include: ["reasoning.encrypted_content"],
      },
      { input: "hi", previous_response_id: "resp_00", store: true },
      { input: [{ type: "item_reference", id: "msg_00" }] },
    ],
  },
  {
    name: "messages",
    paths: ["messages", "messages/count_tokens"],
    captured: /^\/v1\/messages/,
    isError: anthropicError,
    requests: [
      {
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
              { type: "tool_result", tool_use_id: "toolu_1", is_error: true, content: [{ type: "text", text: "r" }] },
              { type: "document", source: { type: "content", content: [{ type: "text", text: "d" }] } },
            ],
          },
          { role: "system", content: "n" },
        ],
        tools: [{ name: "f", description: "d", input_schema: { type: "object" } }],
        tool_choice: { type: "tool", name: "f" },
        thinking: { type: "enabled", budget_tokens: 1024 },
        output_config: { effort: "high", format: { type: "json_schema", schema: {} } },
        stop_sequences: ["x"],
        stream: true,
      },
    ],
  },
  {
    name: "gemini",
    paths: [":generateContent", ":streamGenerateContent?alt=sse", ":streamGenerateContent", ":countTokens"].map(
      (method) => `models/m${method}`,
    ),
    captured: /generateContent/,
    isError: geminiError,
    requests: [
      {
        systemInstruction: { parts: [{ text: "s" }] },
        contents: [
          { role: "user", parts: [{ text: "t" }] },
          {
            role: "model",
            parts: [
              { text: "h", thought: true },
              { functionCall: { id: "1", name: "f", args: { a: 1 } }, thoughtSignature: "c2ln" },
            ],
          },
          { role: "user", parts: [{ functionResponse: { id: "1", name: "f", response: { output: "r" } } }] },
        ],
        tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: { type: "object" } }] }],
        toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
        generationConfig: { temperature: 1, topP: 0.9, maxOutputTokens: 5, candidateCount: 2, responseLogprobs: true },
      },
    ],
  },
];

/** Captured requests of a dialect, as long as they are not too long to be sent thousands of times. */
function capturedRequests({ captured }: FuzzedDialect): Json[] {
  if (!hasShared("captures/index.json")) return [];
  const index = JSON.parse(readFileSync(sharedPath("captures/index.json"), "utf8")) as {
    captures: { file: string; path: string; bytes: number }[];
  };
  return index.captures
    .filter(({ path, bytes }) => captured.test(path) && bytes < 9000)
    .map(({ file }) => (JSON.parse(readFileSync(sharedPath(`captures/${file}`), "utf8")) as { body: Json }).body);
}

const sessions = 4;
const slowestMs = 10_000;

/** What a session's model says, and nobody else may see. */
const secret = (session: number) => `secret-of-session-${session}`;

async function openSessions(dialect: FuzzedDialect, mutator: Mutator): Promise<AppClient> {
  const client = new AppClient({}, {});
  client.engine.contextLength = 100_000;
  for (let session = 0; session < sessions; session++) {
    await client.create(`s${session}`);
    client.engine.script = () => `<think>${secret(session)}</think>${secret(session)}<call>f {"a": 1}</call>`;
    for (const path of ["chat/completions", "responses", "messages"]) {
      const said = { messages: [{ role: "user", content: `of ${session}` }], input: `of ${session}`, max_tokens: 99 };
      const tools =
        path === "messages"
          ? [{ name: "f", input_schema: {} }]
          : [{ type: "function", name: "f", function: { name: "f" } }];
      const response = await client.post(`/r/s${session}/0/train/v1/${path}`, {
        ...said,
        tools,
        include: ["reasoning.encrypted_content"],
      });
      expect(response.status, dialect.name).toBe(200);
      const text = await response.text();
      // Every id and seal that the session was given.
      mutator.foreign.push(
        ...(text.match(/"(?:resp|msg|rs|fc|call|toolu)_\w+"|"[\w+/]{20,}=*"/g) ?? []).map((id) => id.slice(1, -1)),
      );
    }
  }
  client.engine.script = () => "ok";
  return client;
}

/** What is wrong with an answer that a session got; null when nothing is. */
function faultOf(
  dialect: FuzzedDialect,
  client: AppClient,
  session: number,
  status: number,
  text: string,
): string | null {
  if (![200, 400, 404].includes(status)) return "unexpected status";
  if (status !== 200 && !dialect.isError(JSON.parse(text), status)) return "not the dialect's error";
  for (let other = 0; other < sessions; other++) {
    if (other !== session && text.includes(secret(other))) return `told of session ${other}`;
  }
  return client.faults.length > 0 ? `a fault inside: ${String(client.faults[0])}` : null;
}

/** Sends `count` mutated requests to sessions of their own. */
export async function fuzz(dialect: FuzzedDialect, count: number, seed: number): Promise<void> {
  const mutator = new Mutator(seed);
  const client = await openSessions(dialect, mutator);
  const bodies = [...dialect.requests, ...capturedRequests(dialect)];
  const version = dialect.name === "gemini" ? "v1beta" : "v1";
  const statuses = new Map<number, number>();
  for (let at = 0; at < count; at++) {
    const session = mutator.below(sessions);
    const body = mutator.mutate(mutator.pick(bodies));
    const path = mutator.pick(dialect.paths);
    const limit = AbortSignal.timeout(slowestMs);
    const ended = new Promise<never>((_, reject) =>
      limit.addEventListener("abort", () => reject(new Error("it hangs"))),
    );
    const asked = client.post(`/r/s${session}/0/train/${version}/${path}`, body);
    const response = await Promise.race([asked, ended]);
    const text = await Promise.race([response.text(), ended]);
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    const fault = faultOf(dialect, client, session, response.status, text);
    // Plain comparisons: what would be said of a failure takes longer to write than most requests to answer.
    if (fault === null) continue;
    throw new Error(
      `${fault}: seed ${seed}, request ${at}: ${response.status} ${text.slice(0, 300)} for ${path} ${body}`,
    );
  }
  expect(statuses.get(200), "some are answered").toBeGreaterThan(count / 20);
  expect(statuses.get(400), "some are refused").toBeGreaterThan(count / 20);
  await check(client);
}

/** No call continues one of another session, and no prompt holds what another was told. */
async function check(client: AppClient): Promise<void> {
  for (let session = 0; session < sessions; session++) {
    const calls = await client.calls(`s${session}`);
    const ids = new Set(calls.map(({ id }) => id));
    for (const { parent, tokens } of calls) {
      expect(parent === null || ids.has(parent)).toBe(true);
      const prompt = String.fromCharCode(...tokens.promptIds.slice(0, 50_000));
      for (let other = 0; other < sessions; other++) {
        if (other !== session) expect(prompt.includes(secret(other))).toBe(false);
      }
    }
  }
}
