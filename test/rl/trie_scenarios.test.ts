/**
 * What harnesses do to a conversation, as the trie takes it: every sampled token is trained from its own whole context,
 * once for each call that drew it, and nothing is masked because something else broke.
 */
import { describe, expect, it } from "vitest";
import type { CallRecord, GroupRecord } from "../../src/rl/batch/batch_input.ts";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { call, group, rollout } from "./groups.ts";
import { spellRecords } from "./row_reading.ts";

/** Tokens from two chats of a planner and a worker that go on by turns, each reply one token. */
const planner = { a: call([1, 2], [3]), b: call([1, 2, 3, 4], [5]), c: call([1, 2, 3, 4, 5, 4], [6]) };
const worker = { a: call([8], [3]), b: call([8, 3, 9], [5]), c: call([8, 3, 9, 5, 9], [7]) };
const other = rollout("other", 0, [call([70], [71])]);

const oneGroup = (calls: CallRecord[]): GroupRecord[] => [group("t", [rollout("r", 1, calls), other])];

/** The trained contexts with their targets, of the rollout under test, in order of context. */
function trained(
  groups: GroupRecord[],
  view: "trie" | "trajectory" | "transition" | "rows_best_prefix" = "trie",
): string[] {
  const { rows } = buildBatch(groups, { view });
  return spellRecords(rows)
    .filter(({ target }) => target !== 71)
    .map(({ context, target }) => `${context.join(" ")} > ${target}`)
    .sort();
}

/** What the calls drew, token by token from its whole context. */
function drawn(calls: readonly CallRecord[]): string[] {
  return calls
    .flatMap(({ promptIds, replyIds }) =>
      Array.from(replyIds, (target, k) => {
        const context = [...Array.from(promptIds), ...Array.from(replyIds).slice(0, k)];
        return `${context.join(" ")} > ${target}`;
      }),
    )
    .sort();
}

/** Sequences of the rollout under test: lineages of the trie, or rows of a linear view. */
function sequences(calls: CallRecord[], view: "trie" | "trajectory" | "rows_best_prefix" = "trie"): number {
  return (buildBatch(oneGroup(calls), { view }).metrics["training/n_sample"] as number) - 1;
}

describe("two interleaved sub-agent chats", () => {
  const mixed = [planner.a, worker.a, planner.b, worker.b, planner.c, worker.c];

  it("are two branches, not six rows", () => {
    expect(sequences(mixed)).toBe(2);
    expect(sequences(mixed, "trajectory")).toBe(6);
    expect(sequences(mixed, "rows_best_prefix")).toBe(2);
    expect(trained(oneGroup(mixed))).toEqual(drawn(mixed));
  });

  it("compute every token of the two once", () => {
    const { metrics } = buildBatch(oneGroup(mixed), {});
    // Six tokens of each chat less its last, which predicts nothing, and the other rollout's prompt.
    expect(metrics["training/n_tokens_computed"]).toBe(6 + 5 + 1);
    expect(metrics["training/n_tokens_trained"]).toBe(7);
  });
});

describe("a conversation that", () => {
  it("is handed to another agent and comes back goes on where it was", () => {
    const calls = [planner.a, worker.a, worker.b, planner.b, planner.c];
    expect(sequences(calls)).toBe(2);
    expect(trained(oneGroup(calls))).toEqual(drawn(calls));
  });

  it("is compacted begins anew, and what came before is trained all the same", () => {
    const summary = call([1, 2, 3, 4, 5, 60], [61, 62], { breakReason: "compaction" });
    const after = call([1, 61, 62, 4], [5]);
    const calls = [planner.a, planner.b, summary, after];
    // The summary is asked of the whole conversation, so it continues it; what follows does not.
    expect(sequences(calls)).toBe(2);
    expect(trained(oneGroup(calls))).toEqual(drawn(calls));
  });

  it("is sampled several times from one prompt has a branch for each, equal ones included", () => {
    const best = [call([1, 2], [3]), call([1, 2], [4]), call([1, 2], [3])];
    const next = call([1, 2, 4, 9], [5]);
    const calls = [...best, next];
    expect(sequences(calls)).toBe(3);
    expect(trained(oneGroup(calls))).toEqual(drawn(calls));
    // Agent Lightning's rows keep the last sample of a prompt alone.
    expect(trained(oneGroup(calls), "trajectory")).toEqual(drawn([best[2] as CallRecord, next]));
  });

  it("is retried after a lost reply trains both replies; one that was abandoned is kept aside and counted", () => {
    const lost = call([1, 2], [3, 4], { excluded: "abandoned" });
    const again = call([1, 2], [3, 4]);
    const groups = oneGroup([lost, again]);
    expect(trained(groups)).toEqual(drawn([again]));
    expect(buildBatch(groups, {}).metrics["training/n_calls_excluded"]).toBe(1);
    expect(trained(oneGroup([call([1, 2], [3, 4]), again]))).toEqual(drawn([again, again]));
  });

  it("comes from an attempt that was given up is kept aside and counted", () => {
    const groups = oneGroup([call([1, 2], [3], { attempt: "1" }), call([1, 2], [5])]);
    expect(trained(groups)).toEqual(["1 2 > 5"]);
    expect(buildBatch(groups, {}).metrics["training/n_calls_abandoned"]).toBe(1);
  });

  it("comes back in other tokens forks at the first that differs, and masks none (rllm 352, 272, slime 2360)", () => {
    const said = call([1, 2], [3, 4, 5]);
    // The harness wrote the reply's end in other tokens: 4 5 became 45.
    const drifted = call([1, 2, 3, 45, 6], [7], { breakReason: "retokenised" });
    const calls = [said, drifted];
    expect(sequences(calls)).toBe(2);
    expect(trained(oneGroup(calls))).toEqual(drawn(calls));
    expect(buildBatch(oneGroup(calls), {}).metrics["training/breaks/retokenised"]).toBe(1);
  });

  it("loses its middle keeps the prefix that is left, computed once", () => {
    const calls = [planner.a, planner.b, planner.c, call([1, 2, 3, 4, 90], [5])];
    expect(sequences(calls)).toBe(2);
    expect(trained(oneGroup(calls))).toEqual(drawn(calls));
    expect(buildBatch(oneGroup(calls), {}).metrics["training/n_tokens_computed"]).toBe(6 + 1 + 1);
  });
});

describe("a group", () => {
  it("computes the prompt that its rollouts share once", () => {
    const prompt = Array.from({ length: 50 }, (_, i) => i + 1);
    const rollouts = Array.from({ length: 8 }, (_, i) => rollout(`r${i}`, i % 2, [call(prompt, [60 + i, 80, 81])]));
    const of = (view: "trie" | "transition") => buildBatch([group("t", rollouts)], { view }).metrics;
    expect(of("trie")["training/n_tokens_computed"]).toBe(50 + 8 * 2);
    expect(of("transition")["training/n_tokens_computed"]).toBe(8 * 53);
    expect(of("trie")["training/n_tokens_trained"]).toBe(24);
  });

  it("does not join what different rollouts say into one lineage", () => {
    const groups = [group("t", [rollout("a", 1, [call([1], [2])]), rollout("b", 0, [call([1, 2, 3], [4])])])];
    expect(buildBatch(groups, {}).metrics["training/n_sample"]).toBe(2);
  });
});
