// Plan: with an age of 0 an interleaved run is the sync run to the last bit (updates, tokens, scores, policy, critic), with
// lost devices, bad gradients, failing agents and calls that are cancelled before anything is done for them.
import { describe, expect, it } from "vitest";
import { deriveKey, Rng, seedKey } from "../../src/core/rng.ts";
import { randomScenario } from "./scenario.ts";
import { runWorld, type WorldResult } from "./schedule_world.ts";
import { broken } from "./world_faults.ts";

const zeroAgeWorlds = 1_000;

describe("random schedules of age 0", () => {
  it(`are the sync run, to the last bit, when nothing may be older than its update, in ${zeroAgeWorlds} worlds`, async () => {
    const seen = { losses: 0, cancelled: 0, judged: 0 };
    for (let seed = 0; seed < zeroAgeWorlds; seed++) {
      const drawn = randomScenario(new Rng(deriveKey(seedKey(seed), "zero")));
      // A call that is cancelled under way ends at a moment of time, which differs between schedules; and a bad gradient is
      // made once, so where the device is lost over it no update is skipped.
      const scenario = {
        ...drawn,
        cancels: new Map([...drawn.cancels.keys()].map((call) => [call, 0] as const)),
        nanUpdates: drawn.losses.length === 0 ? drawn.nanUpdates : [],
      };
      const { tasksPerUpdate } = drawn.groups;
      const sync = await runWorld({
        ...scenario,
        groups: { mode: "sync", tasksPerUpdate, activeGroups: tasksPerUpdate, maxAge: 0 },
        device: { inFlight: "drain", stepsPerQuantum: 1 },
        collects: false,
      });
      const interleaved = await runWorld({
        ...scenario,
        groups: { mode: "interleaved", tasksPerUpdate, activeGroups: 2 * tasksPerUpdate, maxAge: 0 },
        device: { inFlight: "keep", stepsPerQuantum: 2 },
        collects: false,
      });
      expect(interleaved.weightsSha256, `seed ${seed}`).toBe(sync.weightsSha256);
      for (const world of [sync, interleaved]) expect(broken(scenario, world), `seed ${seed}`).toEqual([]);
      expect(new Set([...sync.ages, ...interleaved.ages])).toEqual(new Set([0]));
      expect([interleaved.updates, interleaved.critic]).toEqual([sync.updates, sync.critic]);
      expect(interleaved.judged).toEqual(sync.judged);
      seen.losses += interleaved.deviceLosses;
      seen.cancelled += [...sync.outcomes.values()].filter(({ result }) => result.finishReason === "cancelled").length;
      seen.judged += sync.judged.length;
      const tokens = (world: WorldResult) =>
        [...world.outcomes]
          .sort()
          .map(([call, { result }]) => [call, Array.from(result.ids), Array.from(result.versions)]);
      expect(tokens(interleaved)).toEqual(tokens(sync));
    }
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(100);
  });
});
