import { describe, expect, it } from "vitest";
import { finalMessage, lastCallStatus, postedReward, transcript } from "../../src/rollout/transcript.ts";
import type { RolloutEvent } from "../../src/schema/wire.ts";

function event(type: string, data: Record<string, unknown>, timestamp = 1): RolloutEvent {
  return { event_type: type, rollout_id: "r", attempt_id: "0", timestamp, data };
}

function call(message: unknown, status = 200, timestamp = 1): RolloutEvent {
  const response = status < 400 ? { choices: [{ message }] } : { error: { message: "no" } };
  const data = { request: { messages: [] }, response, http_status: status, status: status < 400 ? "ok" : "error" };
  return event("model_request", data, timestamp);
}

const tool = { id: "c1", type: "function", function: { name: "calculator", arguments: '{"expression": "1"}' } };

describe("transcript", () => {
  it("reads texts and tool calls of chat and plain completions", () => {
    const calls = transcript([
      call({ role: "assistant", content: null, tool_calls: [tool] }),
      event("reward", { value: 1 }),
      call({ role: "assistant", content: "hi" }),
      event("model_request", { response: { choices: [{ text: "plain" }] } }),
    ]);
    expect(calls.map(({ text }) => text)).toEqual([null, "hi", "plain"]);
    expect(calls[0]?.toolCalls).toEqual([{ name: "calculator", arguments: '{"expression": "1"}' }]);
  });

  it("reads the blocks of Anthropic messages", () => {
    const content = [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "so" },
      { type: "tool_use", id: "a", name: "add", input: { a: 1 } },
      { type: "tool_use", id: "b", name: "add", input: {}, partial_json: '{"a": ' },
      null,
    ];
    const choices = [{ index: 0, token_ids: [1] }];
    const [first, second] = transcript([
      event("model_request", { response: { content, choices } }),
      event("model_request", { response: { content: [], choices } }),
    ]);
    expect(first?.text).toBe("so");
    expect(first?.toolCalls).toEqual([
      { name: "add", arguments: '{"a":1}' },
      { name: "add", arguments: '{"a": ' },
    ]);
    expect(second).toMatchObject({ text: null, toolCalls: [] });
  });

  it("takes the last successful reply for the final message, tool calls being none", () => {
    const said = call({ content: "The answer is 5." });
    expect(finalMessage(transcript([said, call(null, 500)]))).toBe("The answer is 5.");
    expect(finalMessage(transcript([said, call({ content: null, tool_calls: [tool] })]))).toBeNull();
    expect(finalMessage([])).toBeNull();
  });

  it("bears malformed events", () => {
    for (const data of [{}, { response: null }, { response: [] }, { response: { choices: [null] } }]) {
      expect(transcript([event("model_request", data)])[0]).toMatchObject({ text: null, toolCalls: [] });
    }
  });

  it("knows the last call's status, lost calls included", () => {
    expect(lastCallStatus([], [])).toBeNull();
    expect(lastCallStatus([call({}, 200, 5)], [])).toBe(200);
    expect(lastCallStatus([call({}, 200, 5)], [{ httpStatus: 503, timestamp: 6 }])).toBe(503);
    expect(lastCallStatus([call({}, 200, 5)], [{ httpStatus: 503, timestamp: 4 }])).toBe(200);
    expect(lastCallStatus([], [{ httpStatus: 502, timestamp: 4 }])).toBe(502);
  });

  it("takes the last reward, claimed ones and words apart", () => {
    const rewards = [
      event("reward", { value: 0 }),
      event("reward", { value: 1 }),
      event("claimed_reward", { value: 9 }),
    ];
    expect(postedReward(rewards)).toBe(1);
    expect(postedReward([...rewards, event("reward", { value: "high" })])).toBe(1);
    expect(postedReward([])).toBeNull();
  });

  it("sums what its calls earned where nobody gave the whole one", () => {
    const answered = event("model_request", { call_id: "c1" });
    const earned = event("reward", { value: 0.5, call_id: "chatcmpl-c1" });
    expect(postedReward([answered, earned, event("reward", { value: 7, call_id: "unknown" })])).toBe(0.5);
  });
});
