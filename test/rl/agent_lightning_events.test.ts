import { describe, expect, it } from "vitest";
import {
  finalReward,
  lastOfEachPrompt,
  type RawEvent,
  requestCalls,
  usableCalls,
} from "../../src/rl/agent_lightning/events.ts";

describe("events", () => {
  const request = (prompt: number[], reply: number[], extra: object = {}): RawEvent => ({
    event_type: "model_request",
    data: {
      status: "ok",
      http_status: 200,
      response: { prompt_token_ids: prompt, choices: [{ token_ids: reply }] },
      ...extra,
    },
  });

  it("an empty retry hides the good answer, because folding comes first", () => {
    expect(usableCalls([request([1], [2]), request([1], [])])).toEqual([]);
    expect(usableCalls([request([1], []), request([1], [2])])).toHaveLength(1);
  });

  it("errors, by status or code, are no calls", () => {
    const events = [request([1], [2], { status: "error" }), request([3], [4], { http_status: 429 }), request([5], [6])];
    expect(usableCalls(events).map((c) => c.promptIds)).toEqual([[5]]);
    expect(requestCalls(events).map((c) => c.failed)).toEqual([true, true, false]);
  });

  it("reads the forms of chat, completions and stream chunks", () => {
    const completions = {
      choices: [{ prompt_token_ids: [7], token_ids: [8, 9], logprobs: { token_logprobs: [-1, -2] } }],
    };
    const chunks = [{ prompt_token_ids: [7], choices: [{ token_ids: [8] }] }, { choices: [{ token_ids: [9] }] }];
    const [a, b] = usableCalls([request([], [], { response: completions }), request([], [], { response: chunks })]);
    // Both have the prompt [7]: the last one stays.
    expect(a).toMatchObject({ promptIds: [7], replyIds: [8, 9], logprobs: null });
    expect(b).toBeUndefined();
    expect(usableCalls([request([], [], { response: completions })])[0]?.logprobs).toEqual([-1, -2]);
  });

  it("survives anything in an event", () => {
    for (const data of [
      null,
      3,
      "x",
      [],
      {},
      { response: null },
      { response: { choices: "no" } },
      { response: [null] },
    ]) {
      expect(usableCalls([{ event_type: "model_request", data }])).toEqual([]);
    }
    const odd = { choices: [{ token_ids: [1, "2"], logprobs: { content: [null] } }], prompt_token_ids: "abc" };
    expect(usableCalls([request([], [], { response: odd })])).toEqual([]);
  });

  it("the last reward counts, and only if it is a number", () => {
    const reward = (value: unknown): RawEvent => ({ event_type: "reward", data: { value } });
    expect(finalReward([reward(5), reward(0.25)])).toBe(0.25);
    for (const value of [true, "1", null, undefined, Number.NaN])
      expect(finalReward([reward(1), reward(value)])).toBeNull();
    expect(finalReward([])).toBeNull();
  });

  it("folding keeps the last of each prompt at its place", () => {
    const calls = requestCalls([request([1], [2]), request([3], [4]), request([1], [5])]);
    expect(lastOfEachPrompt(calls).map((c) => c.replyIds)).toEqual([[4], [5]]);
  });
});
