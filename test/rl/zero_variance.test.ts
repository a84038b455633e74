/** Which groups teach nothing: by the rewards that are compared with each other, whatever these belong to. */
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/experiment/config.ts";
import { isReplaced } from "../../src/experiment/refill.ts";
import type { BatchOptions, GroupRecord } from "../../src/rl/batch/batch_input.ts";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { call, group, pair, rollout } from "./groups.ts";

/** Two rollouts that earn 1 each, one by agent x and one by agent y. */
function split(rewards: { x: [number, number]; y: [number, number] } = { x: [1, 0], y: [0, 1] }): GroupRecord {
  const one = (id: string, i: 0 | 1) => {
    const [x, y] = [rewards.x[i], rewards.y[i]];
    const calls = [
      call([1], [2, 3], { agent: "x", policy: "x", reward: x }),
      call([9], [2, 3], { agent: "y", policy: "y", reward: y }),
    ];
    return rollout(id, 1, calls, { agentRewards: { x, y } });
  };
  return group("t", [one("a", 0), one("b", 1)]);
}

const excluding = (one: GroupRecord, options: Partial<BatchOptions>): number =>
  buildBatch([one], { zeroVariance: "exclude", ...options }).metrics[
    "training/n_groups_zero_variance_excluded"
  ] as number;

describe("groups of equal rewards", () => {
  it("are those of equal rollouts at level rollout, of equal agents at level agent, of equal calls at level call", () => {
    expect(excluding(split(), { level: "rollout" })).toBe(1);
    expect(excluding(split(), { level: "row" })).toBe(1);
    for (const level of ["agent", "call"] as const) {
      expect([level, excluding(split(), { level })]).toEqual([level, 0]);
      const { rows } = buildBatch([split()], { level, zeroVariance: "exclude" });
      expect(rows.flatMap((row) => [...row.advantage]).some((advantage) => advantage !== 0)).toBe(true);
    }
    // Each agent is compared with itself alone; calls with all others of the group.
    expect(excluding(split({ x: [1, 1], y: [0, 0] }), { level: "agent" })).toBe(1);
    expect(excluding(split({ x: [1, 1], y: [0, 0] }), { level: "call" })).toBe(0);
    expect(excluding(split({ x: [1, 1], y: [1, 1] }), { level: "call" })).toBe(1);
  });

  it("go by what the calls earned where tokens have the advantages", () => {
    const own = (values: number[]) => rollout(String(values), 1, [call([1], [2, 3], { tokenRewards: values })]);
    const advantage = { estimator: "returns" as const };
    expect(excluding(group("t", [own([0, 1]), own([1, 0])]), { advantage })).toBe(1);
    expect(excluding(group("t", [own([0, 1]), own([1, 1])]), { advantage })).toBe(0);
  });

  it("are looked for among rollouts that asked the model, which alone are compared", () => {
    const silent = rollout("c", 0, []);
    const alike = [rollout("a", 1, [call([1], [2])]), rollout("b", 1, [call([1], [3])])];
    expect(excluding(group("t", [...alike, silent]), {})).toBe(1);
    expect(excluding(group("t", [alike[0] as (typeof alike)[number], silent]), {})).toBe(0);
  });
});

describe("refill", () => {
  const config = (train: object) =>
    parseConfig({
      ...{ model: { path: "m" }, task: { dataset: "d" }, rollout: { command: ["c"] } },
      train: { zeroVariance: "refill", ...train },
    });

  it("replaces what the update would leave out, and nothing else", () => {
    expect(isReplaced(split(), config({}))).toBe(true);
    expect(isReplaced(split(), config({ level: "agent" }))).toBe(false);
    expect(isReplaced(split(), config({ level: "call" }))).toBe(false);
    expect(isReplaced(pair(), config({}))).toBe(false);
    expect(isReplaced(split(), config({ zeroVariance: "exclude" }))).toBe(false);
    expect(isReplaced(group("t", [rollout("a", 1, [call([1], [2])])]), config({}))).toBe(false);
  });

  it("asks every one of several policies, each of which is compared by what it earned itself", () => {
    const several = config({ policies: ["x", "y"], loraRank: 4 });
    expect(isReplaced(split(), several)).toBe(false);
    expect(isReplaced(split({ x: [1, 1], y: [0, 0] }), several)).toBe(true);
    expect(isReplaced(split({ x: [1, 1], y: [0, 1] }), several)).toBe(false);
  });
});

describe("training/n_zero_adv_groups", () => {
  const alike = () => group("u", [rollout("x", 1, [call([1], [2])]), rollout("y", 1, [call([1], [3])])]);

  it("counts groups without an advantage, left out of the compute or not", () => {
    for (const skipZeroAdvantage of [true, false]) {
      const { metrics } = buildBatch([pair(), alike()], { skipZeroAdvantage });
      expect(metrics["training/n_zero_adv_groups"]).toBe(1);
    }
    expect(buildBatch([split()]).metrics["training/n_zero_adv_groups"]).toBe(1);
    expect(buildBatch([split()], { level: "agent" }).metrics["training/n_zero_adv_groups"]).toBe(0);
  });

  it("counts none where equal rewards have advantages", () => {
    const { rows, metrics } = buildBatch([alike(), pair()], { advantage: { estimator: "returns" } });
    const some = rows.flatMap((row) => [...row.advantage]).some((advantage) => advantage !== 0);
    expect([some, metrics["training/n_zero_adv_groups"]]).toEqual([true, 0]);
  });
});
