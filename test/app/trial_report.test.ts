// Plan: what is summed up; why calls can be trained, and each reason why not.
import { describe, expect, it } from "vitest";
import { type ListedCall, type TrialCourse, trialRecord } from "../../src/app/trial/trial_report.ts";
import { EnvironmentError } from "../../src/core/errors.ts";
import { rolloutTree } from "../../src/rl/trie/rollout_tree.ts";
import type { CallRecord } from "../../src/schema/store.ts";

/** A recorded call with the given tokens. */
function call(id: string, prompt: number[], reply: number[], more: Partial<CallRecord> = {}): CallRecord {
  return {
    id,
    rolloutId: "r",
    attemptId: "0",
    mode: "train",
    dialect: "chat_completions",
    policy: "policy",
    own: true,
    callKey: `${id}.0`,
    parent: null,
    prefixLength: 0,
    breakReason: null,
    tokens: {
      promptIds: Int32Array.from(prompt),
      replyIds: Int32Array.from(reply),
      logprobs: new Float32Array(reply.length).fill(-1),
      versions: new Int32Array(reply.length),
    },
    sampling: {},
    overridden: {},
    truncated: false,
    request: {},
    response: {},
    server: { model: "policy", endpoint: "engine", version: 0 },
    httpStatus: 200,
    finishReason: "stop",
    retryCount: 0,
    latencyMs: 1,
    timestamp: 1,
    delivery: "delivered",
    ...more,
  };
}

/** How a program went that ended with a code, unless something else is said. */
function course(code: number | null, end: Partial<TrialCourse["end"]> = {}, failures: string[] = []): TrialCourse {
  const signal = code === null ? "SIGKILL" : null;
  const exit = { code, signal, outputBytes: 0, overflowed: false, outputError: null };
  return {
    end: { exit, stopped: null, startError: null, workspace: null, startedAt: 0, endedAt: 1, ...end },
    failures: failures.map((failure) => ({ code: failure, http_status: 500 })),
  };
}

function record(...calls: CallRecord[]) {
  const listed = calls.map(
    ({ id, own, server, tokens }): ListedCall => ({
      id,
      own,
      endpoint: server.endpoint,
      prompt_len: tokens.promptIds.length,
      reply_len: tokens.replyIds.length,
    }),
  );
  return trialRecord(rolloutTree("r", calls), listed, course(0));
}

describe("a trial's record", () => {
  it("sums up calls, lineages, breaks and tokens", () => {
    const title = call("b", [9, 9], [8], { breakReason: "side" });
    expect(record(call("a", [1, 2], [3, 4]), title, call("c", [1, 2, 3, 4, 5], [6, 7]))).toEqual({
      calls: 3,
      lineages: 2,
      breaks: ["side"],
      promptTokens: 9,
      sampledTokens: 5,
      continuations: 1,
      trainable: true,
      because:
        "every sampled token (5) is recorded with its logprob, and 1 continuation begins with the earlier tokens verbatim",
    });
  });

  it("is trainable without a continuation", () => {
    expect(record(call("a", [1], [2]))).toMatchObject({
      trainable: true,
      because: "every sampled token (1) is recorded with its logprob",
    });
  });

  const tokens = (reply: number[], logprobs: number[]) => ({
    ...call("x", [1], reply).tokens,
    logprobs: Float32Array.from(logprobs),
  });
  const first = call("a", [1], [2]);
  it.each<[string, CallRecord[]]>([
    ["no call reached the gateway; an agent has to take its model's address from its environment", []],
    [
      "no model computed the replies' logprobs",
      [call("a", [1], [2], { server: { model: "m", endpoint: "null", version: 0 } })],
    ],
    ["1 call of 2 went to another model", [first, call("b", [3], [4], { own: false })]],
    ["the tokens of 1 call of 2 have no logprobs", [first, call("b", [3], [4], { tokens: tokens([4], []) })]],
    [
      "2 calls of 3 did not continue the recorded tokens (edited, unknown)",
      [first, call("b", [3], [4], { breakReason: "edited" }), call("c", [5], [6], { breakReason: "unknown" })],
    ],
  ])("is not trainable: %s", (because, calls) => {
    expect(record(...calls)).toMatchObject({ trainable: false, because });
  });

  it.each<[string, TrialCourse]>([
    [
      "the program ended with 3 before any call reached the gateway; mend what it says, or, if it asked another model, let it take its model's address from its environment",
      course(3),
    ],
    [
      "the program was ended by SIGKILL before any call reached the gateway; mend what it says, or, if it asked another model, let it take its model's address from its environment",
      course(null),
    ],
    [
      "no call was answered: 3 calls failed (internal, context_length)",
      course(1, {}, ["internal", "context_length", "internal"]),
    ],
    [
      "no call reached the gateway; an agent has to take its model's address from its environment",
      course(null, { stopped: "run_timeout" }),
    ],
    ["it was stopped before any call reached the gateway", course(null, { stopped: "cancelled" })],
    [
      "it could not be started",
      course(0, { exit: null, startError: new EnvironmentError("spawn_failed", "No such program.") }),
    ],
  ])("says why there is no call: %s", (because, went) => {
    expect(trialRecord(rolloutTree("r", []), [], went)).toMatchObject({ calls: 0, trainable: false, because });
  });
});
