import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { GroupRecord } from "../../src/rl/batch/batch_input.ts";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { normalisations } from "../../src/rl/normalisation.ts";
import { linearViewNames } from "../../src/rl/views/linear_views.ts";
import { call, group, pair, rollout } from "./groups.ts";
import { recordMultiset, type SpelledRecord, spellRecords } from "./row_reading.ts";

const token = fc.integer({ min: 1, max: 3 });
const someCalls = fc.array(
  fc.tuple(fc.array(token, { minLength: 1, maxLength: 5 }), fc.array(token, { minLength: 1, maxLength: 4 })),
  { minLength: 1, maxLength: 4 },
);
const someGroups = fc
  .array(fc.array(fc.tuple(someCalls, fc.constantFrom(0, 0.5, 1)), { minLength: 2, maxLength: 4 }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((groups) =>
    groups.map((members, g) =>
      group(
        `g${g}`,
        members.map(([calls, reward], i) =>
          rollout(
            `g${g}r${i}`,
            reward,
            calls.map(([prompt, reply], c) =>
              call(prompt, reply, { id: `g${g}r${i}c${c}`, key: `${(c * 7) % 5}-${c}` }),
            ),
          ),
        ),
      ),
    ),
  );

/** Everything shuffled that arrival can shuffle. */
function shuffled(groups: readonly GroupRecord[], seed: number): GroupRecord[] {
  const rng = new Rng(seedKey(seed));
  return rng.shuffled(groups).map((g) => ({
    ...g,
    rollouts: rng.shuffled(g.rollouts).map((r) => ({ ...r, calls: rng.shuffled(r.calls) })),
  }));
}

/** Sum of weight * advantage over records that predict the same token from the same context: the gradient's factor. */
function pushes(records: readonly SpelledRecord[]): Map<string, number> {
  const out = new Map<string, number>();
  for (const { context, target, weight, advantage } of records) {
    const key = `${context.join()}>${target}`;
    out.set(key, (out.get(key) ?? 0) + weight * advantage);
  }
  return out;
}

describe("a batch", () => {
  it("weighs every rollout alike and every token of it alike (Eq. 16)", () => {
    const { rows, rollouts } = buildBatch([pair()]);
    const records = spellRecords(rows);
    expect(records.map((r) => [r.context, r.target, r.weight, r.advantage > 0])).toEqual([
      [[1], 2, 0.125, false],
      [[1], 6, 0.5, true],
      [[1, 2], 3, 0.125, false],
      [[1, 2, 3], 4, 0.125, false],
      [[1, 2, 3, 4], 5, 0.125, false],
    ]);
    expect(rollouts.map((r) => [r.id, r.tokens, r.rows])).toEqual([
      ["bad", 4, 1],
      ["good", 1, 1],
    ]);
  });

  it("carries the sampler's log-probability and says where each record comes from", () => {
    const { rows, origins } = buildBatch([pair()], { view: "transition" });
    rows.forEach((row, i) => {
      const origin = origins[i];
      row.oldLogprob.forEach((logprob, r) => {
        expect(logprob).toBe(-((origin?.token[r] as number) + 1) / 4);
        expect(origin?.calls[origin.call[r] as number]?.rollout).toBe(row.src.length === 4 ? "bad" : "good");
      });
    });
    const row = rows[0];
    expect(row?.src).toEqual(Int32Array.of(0, 1, 2, 3));
    expect([...(row?.target ?? [])]).toEqual([...(row?.ids.subarray(1) ?? [])]);
  });

  it("is the same, bit for bit, in every order of arrival", () => {
    fc.assert(
      fc.property(someGroups, fc.nat(), fc.constantFrom(...normalisations), (groups, seed, normalisation) => {
        for (const view of ["trie", "rows_best_prefix"] as const) {
          const options = { view, normalisation, normalisationLength: 8, maxRowTokens: 12, skipZeroAdvantage: false };
          expect(buildBatch(shuffled(groups, seed), options)).toEqual(buildBatch(groups, options));
        }
      }),
    );
  });

  it("keeps of calls with one prompt the last draw where it knows no arrival, the tenth being later than the ninth", () => {
    const draws = Array.from({ length: 12 }, (_, n) => call([1], [2 + n], { key: `k.${n}` }));
    const g = group("t", [rollout("a", 1, new Rng(seedKey(3)).shuffled(draws)), rollout("b", 0, [call([1], [99])])]);
    const { rows, metrics } = buildBatch([g], { view: "rows_best_prefix" });
    expect(rows.map((row) => [...row.target])).toEqual([[13], [99]]);
    expect(metrics["training/n_calls_folded"]).toBe(11);
    const arrived = buildBatch([group("t", [rollout("a", 1, [...draws].reverse())])], {
      ...{ view: "trajectory", skipZeroAdvantage: false },
    });
    expect(arrived.rows.map((row) => [...row.target])).toEqual([[2]]);
  });

  it("orders equal calls by their key, which a second run repeats, not by their id, which it does not", () => {
    const drawn = (ids: [string, string]): GroupRecord =>
      group("t", [
        rollout("a", 1, [
          call([1], [2], { id: ids[0], key: "k0", logprobs: [-0.5] }),
          call([1], [2], { id: ids[1], key: "k1", logprobs: [-0.75] }),
        ]),
        rollout("b", 0, [call([1], [3])]),
      ]);
    for (const ids of [
      ["x", "y"],
      ["y", "x"],
    ] as [string, string][]) {
      expect([...(buildBatch([drawn(ids)]).rows[0]?.oldLogprob ?? [])]).toEqual([-0.5, -0.75, -0.25]);
    }
  });

  it("pushes every token as hard from the trie as from one row per call", () => {
    fc.assert(
      fc.property(someGroups, (groups) => {
        // The linear views fold calls with one prompt; without such calls they hold the same samples.
        const single = groups.map((g) => ({
          ...g,
          rollouts: g.rollouts.map((r) => ({
            ...r,
            calls: r.calls.filter(
              (c, i, all) => all.findIndex((d) => String(d.promptIds) === String(c.promptIds)) === i,
            ),
          })),
        }));
        const tree = pushes(spellRecords(buildBatch(single).rows));
        for (const view of ["transition", "rows_best_prefix"] as const) {
          const linear = pushes(spellRecords(buildBatch(single, { view }).rows));
          expect([...linear.keys()].sort()).toEqual([...tree.keys()].sort());
          for (const [key, push] of linear) expect(push).toBeCloseTo(tree.get(key) as number, 5);
        }
      }),
    );
  });

  it("trains every sampled token once, whatever the budget of a row (SkyRL 1492, 1507)", () => {
    fc.assert(
      fc.property(someGroups, fc.integer({ min: 1, max: 20 }), (groups, maxRowTokens) => {
        const { rows, origins, metrics } = buildBatch(groups, { skipZeroAdvantage: false, maxRowTokens });
        const seen = rows.flatMap((row, i) =>
          Array.from(row.src, (_, r) => {
            const at = origins[i]?.call[r] as number;
            return `${origins[i]?.calls[at]?.call}:${origins[i]?.token[r]}`;
          }),
        );
        const all = groups.flatMap((g) =>
          g.rollouts.flatMap((r) => r.calls.flatMap((c) => Array.from(c.replyIds, (_, k) => `${c.id}:${k}`))),
        );
        expect(seen.sort()).toEqual(all.sort());
        expect(metrics["training/n_tokens"]).toBe(all.length);
        expect(metrics["training/n_tokens_trained"]).toBe(all.length);
        const unsplit = buildBatch(groups, { skipZeroAdvantage: false });
        expect(recordMultiset(rows)).toEqual(recordMultiset(unsplit.rows));
      }),
    );
  });

  it("two rollouts that say the same are two events", () => {
    const twice = group("t", [
      rollout("a", 1, [call([1], [2, 3])]),
      rollout("b", 1, [call([1], [2, 3])]),
      rollout("c", 0, [call([1], [9])]),
    ]);
    const { rows, metrics } = buildBatch([twice], { advantage: { estimator: "dr_grpo" } });
    const [push] = [...pushes(spellRecords(rows)).entries()].filter(([key]) => key === "1>2");
    expect(push?.[1]).toBeCloseTo(2 * (1 / 6) * (1 / 3), 6);
    expect(metrics["training/n_tokens_computed"]).toBe(2);
    expect(metrics["training/n_tokens_trained"]).toBe(5);
  });

  it("leaves groups of equal rewards out of the compute and in every count (TRL 6367)", () => {
    const dead = group("u", [rollout("x", 1, [call([1], [2])]), rollout("y", 1, [call([1], [3])])]);
    const { rows, metrics } = buildBatch([pair(), dead]);
    expect(metrics).toMatchObject({
      "training/n_groups": 2,
      "training/n_zero_adv_groups": 1,
      "training/n_rollouts": 4,
      "training/n_sample_trained": 2,
      "training/n_tokens": 7,
      "training/n_tokens_trained": 5,
    });
    // 1 / (4 rollouts * 1 token).
    expect(spellRecords(rows).find((r) => r.target === 6)?.weight).toBe(0.25);
    const kept = buildBatch([pair(), dead], { skipZeroAdvantage: false });
    expect(kept.metrics["training/n_tokens_trained"]).toBe(7);
  });

  it("logs the signed mass: 0 under Eq. 16, negative when long failures weigh by tokens", () => {
    expect(buildBatch([pair()]).metrics["training/signed_mass"]).toBeCloseTo(0, 12);
    expect(buildBatch([pair()], { normalisation: "token-mean" }).metrics["training/signed_mass"]).toBeCloseTo(-0.6, 9);
  });

  it("compares rollouts, not rows, unless told to (agent-lightning 444)", () => {
    const many = group("t", [
      rollout("a", 1, [call([1], [2]), call([5], [6]), call([7], [8])]),
      rollout("b", 0, [call([1], [3])]),
    ]);
    const advantage = { estimator: "dr_grpo" } as const;
    expect(buildBatch([many], { advantage }).rollouts.map((r) => r.advantage)).toEqual([0.5, -0.5]);
    const rows = buildBatch([many], { advantage, level: "row" });
    expect(rows.rollouts.map((r) => r.advantage)).toEqual([0.25, -0.75]);
    expect(rows.metrics["training/rows_per_rollout"]).toBe(2);
    expect(rows.metrics["training/rollout_level_advantage/max_rows_per_rollout"]).toBe(3);
  });

  it("counts a forked rollout by its id, not by position (agentcore 106)", () => {
    const forked = group("t", [
      rollout("a", 1, [call([1], [2]), call([9], [9])]),
      rollout("b", 0, [call([1], [3])]),
      rollout("c", 0, [call([1], [4])]),
    ]);
    const found = buildBatch([forked], { advantage: { estimator: "rloo" } }).rollouts;
    expect(found.map((r) => [r.id, r.advantage])).toEqual([
      ["a", 1],
      ["b", -0.5],
      ["c", -0.5],
    ]);
  });

  it("of nothing has no rows and says so", () => {
    for (const view of ["trie", ...linearViewNames] as const) {
      const { rows, metrics } = buildBatch([], { view });
      expect(rows).toEqual([]);
      expect(Object.values(metrics).every((value) => Number.isFinite(value))).toBe(true);
      expect(metrics["training/n_tokens"]).toBe(0);
    }
  });
});
