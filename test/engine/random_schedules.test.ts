// Plan: ten thousand random worlds (modes, sizes, tool times, questions to the models, critics, lost devices, bad
// gradients, cancelled calls, failing agents) on the real engine and schedules and a virtual clock. In each: the version
// only grows, a draining step comes over no sequence in flight (checked within the step), no call, question or gradient
// waits for more actions than the schedule promises, every call is answered with tokens of the weights it names and every
// question by weights there were, every group is trained once and not too old, and what an update learns depends on its
// groups and their order alone.
import { describe, expect, it } from "vitest";
import { deriveKey, Rng, seedKey } from "../../src/core/rng.ts";
import { randomScenario } from "./scenario.ts";
import { runWorld } from "./schedule_world.ts";
import { broken } from "./world_faults.ts";

const worlds = 10_000;

describe("random schedules", () => {
  it(`keep what must hold in ${worlds} worlds, ages within their bound among it (prime-rl 964)`, {
    timeout: 60_000,
  }, async () => {
    const seen = { losses: 0, mixed: 0, skipped: 0, aged: 0, answers: 0, judged: 0 };
    const longest = { call: 0, question: 0, training: 0 };
    for (let seed = 0; seed < worlds; seed++) {
      const scenario = randomScenario(new Rng(deriveKey(seedKey(seed), "schedule")));
      const world = await runWorld(scenario);
      expect(broken(scenario, world), `seed ${seed}`).toEqual([]);
      seen.losses += world.deviceLosses;
      seen.aged += world.ages.filter((age) => age > 0).length;
      seen.answers += world.answers.length;
      seen.judged += world.judged.length;
      for (const kind of ["call", "question", "training"] as const) {
        longest[kind] = Math.max(longest[kind], world.waits.longest[kind]);
      }
      seen.skipped += world.updates.length - (world.versions.at(-1) as number);
      for (const { result } of world.outcomes.values()) {
        if (new Set(result.versions).size > 1) seen.mixed++;
      }
    }
    // The faults and the overlaps did happen.
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(500);
    // Everybody did wait for others, or no wait could have been too long.
    for (const [who, actions] of Object.entries(longest)) expect(actions, who).toBeGreaterThan(9);
  });
});
