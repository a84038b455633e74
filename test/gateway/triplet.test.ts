/** The short form of events, case by case. */
import { describe, expect, it } from "vitest";
import { triplets } from "../../gateway/agent_lightning/triplet.ts";
import type { RolloutEvent } from "../../src/schema/wire.ts";

function event(type: string, data: Record<string, unknown>): RolloutEvent {
  return { event_type: type, rollout_id: "r", attempt_id: "0", timestamp: 1, data };
}

const call = (response: unknown, more = {}) =>
  event("model_request", { response, server: { model: "m", endpoint: "e", version: 2 }, ...more });

/** The short form of one call's reply. */
function short(response: unknown, more = {}): Record<string, unknown> {
  return triplets([call(response, more)])[0]?.data ?? {};
}

describe("triplets", () => {
  it("take prompt ids from the top, else from the first choice", () => {
    expect(short({ prompt_token_ids: [1], choices: [{ token_ids: [2], prompt_token_ids: [9] }] })).toMatchObject({
      prompt_token_ids: [1],
      response_token_ids: [2],
    });
    expect(short({ prompt_token_ids: null, choices: [{ token_ids: [2], prompt_token_ids: [9] }] })).toMatchObject({
      prompt_token_ids: [9],
    });
    expect(short({ choices: [{ text: "x", prompt_token_ids: [9] }] })).toMatchObject({
      prompt_token_ids: [9],
      response_token_ids: [],
    });
  });

  it("pass present nulls through and default what is absent", () => {
    expect(short({ prompt_token_ids: null, choices: [{ token_ids: null }] })).toEqual({
      prompt_token_ids: null,
      response_token_ids: null,
      response_log_probs: null,
      server: { model: "m", version: 2 },
    });
    for (const response of ["text", null, 5, { choices: [] }, {}]) {
      expect(short(response)).toMatchObject({ prompt_token_ids: [], response_token_ids: [], response_log_probs: null });
    }
  });

  it("read a list as the chunks of a stream", () => {
    const chunks = [
      { prompt_token_ids: [], choices: [{ token_ids: [1] }] },
      { prompt_token_ids: [7, 8], choices: [{ token_ids: [2, 3] }] },
      { prompt_token_ids: [9], choices: [] },
    ];
    expect(short(chunks)).toMatchObject({
      prompt_token_ids: [7, 8],
      response_token_ids: [1, 2, 3],
      response_log_probs: null,
    });
  });

  it("take logprobs of both APIs, and none at all when one is not a finite number", () => {
    const logprobs = (value: unknown) => short({ choices: [{ logprobs: value }] }).response_log_probs;
    expect(logprobs({ content: [{ logprob: -0.5 }, { logprob: "-1" }] })).toEqual([-0.5, -1]);
    expect(logprobs({ token_logprobs: [-0.5, -2] })).toEqual([-0.5, -2]);
    expect(logprobs({ content: [] })).toEqual([]);
    expect(logprobs({ content: null, token_logprobs: [-1] })).toEqual([-1]);
    for (const bad of [
      { content: [{ logprob: -0.5 }, {}] },
      { content: [{ logprob: null }] },
      { content: [-0.5] },
      { content: [{ logprob: "x" }] },
      { token_logprobs: [null, -1] },
      { token_logprobs: "no" },
      [-1],
      null,
    ]) {
      expect(logprobs(bad), JSON.stringify(bad)).toBeNull();
    }
  });

  it("keep status and error where there are some", () => {
    expect(short({ error: { message: "m" } }, { http_status: 500, status: "error", latency_ms: 3 })).toEqual({
      prompt_token_ids: [],
      response_token_ids: [],
      response_log_probs: null,
      server: { model: "m", version: 2 },
      http_status: 500,
      status: "error",
      error: { message: "m" },
    });
  });

  it("show of a reward its value, source and reason; other events as they are", () => {
    const events = [
      event("reward", { value: 0.5, message: "x", source: "fallback" }),
      event("reward", {}),
      event("agent_output", { text: "t" }),
    ];
    expect(triplets(events).map(({ data }) => data)).toEqual([
      { value: 0.5, source: "fallback" },
      { value: null },
      { text: "t" },
    ]);
  });

  it("keep the last call of a prompt at its place, and every call without prompt ids", () => {
    const one = (id: number, prompt: unknown) => call({ prompt_token_ids: prompt, choices: [{ token_ids: [id] }] });
    const events = [one(1, [1]), one(2, [1, 2]), event("note", {}), one(3, [1]), one(4, []), one(5, null), one(6, [])];
    const kept = triplets(events).map(({ data }) => (data.response_token_ids as number[] | undefined)?.[0] ?? "note");
    expect(kept).toEqual([2, "note", 3, 4, 5, 6]);
  });

  it("leave out replies that the harness never got", () => {
    const lost = call({ prompt_token_ids: [1], choices: [{ token_ids: [2] }] }, { delivery: "abandoned" });
    const got = call({ prompt_token_ids: [1], choices: [{ token_ids: [3] }] }, { delivery: "delivered" });
    expect(triplets([got, lost]).map(({ data }) => data.response_token_ids)).toEqual([[3]]);
  });
});
