// Plan: ten thousand random worlds (modes, sizes, tool times, lost devices, bad gradients, cancelled calls, failing
// agents) on the real engine and schedules and a virtual clock. In each: the version only grows, a draining step comes
// over no sequence in flight (checked within the step), training waits a bounded number of steps, every call is answered
// with tokens of the weights it names, every group is trained once and not too old. And with an age of 0 the interleaved
// run is the sync run to the last bit.
import { describe, expect, it } from "vitest";
import { deriveKey, Rng, seedKey } from "../../src/core/rng.ts";
import { randomScenario, type Scenario } from "./scenario.ts";
import { type Outcome, runWorld, type WorldResult } from "./schedule_world.ts";

const worlds = 10_000;
const zeroAgeWorlds = 1_000;

/** What each token must be: the sum of all before it and the weight of the version it names. */
function isDrawnRight({ prompt, result, versionAtStart }: Outcome, weights: ReadonlyMap<number, number>): boolean {
  let sum = prompt.reduce((a, b) => a + b, 0);
  let version = versionAtStart;
  for (const [t, id] of result.ids.entries()) {
    const named = result.versions[t] as number;
    if (named < version || id !== (sum + (weights.get(named) ?? Number.NaN)) % 50) return false;
    version = named;
    sum += id;
  }
  return true;
}

/** What a world broke; empty when all holds. */
function broken(scenario: Scenario, world: WorldResult): string[] {
  const faults: string[] = [];
  const { groups, work, device } = scenario;
  const trained = world.updates.flat().sort((a, b) => a - b);
  if (trained.join() !== work.map((_, g) => g).join()) faults.push(`trained ${trained.join()}`);
  const tooOld = world.ages.filter((age) => age > groups.maxAge);
  if (tooOld.length > 0) faults.push(`ages ${tooOld.join()}`);
  const steps = world.versions.map((v, i) => (i === 0 ? 0 : v - (world.versions[i - 1] as number)));
  if (steps.some((step) => step < 0 || step > 1)) faults.push(`versions ${world.versions.join()}`);
  const wholeUpdates = world.updates.slice(0, -1).every((batch) => batch.length === groups.tasksPerUpdate);
  if (!wholeUpdates) faults.push(`updates of ${world.updates.map((u) => u.length).join()}`);
  if (world.mostStepsInPass > device.stepsPerQuantum) faults.push(`${world.mostStepsInPass} steps within a pass`);
  for (const [call, outcome] of world.outcomes) {
    if (!isDrawnRight(outcome, world.weights)) faults.push(`call ${call}`);
  }
  const ended = scenario.failures.size + scenario.cancels.size === 0;
  const calls = work.flat().reduce((n, turns) => n + turns.length, 0);
  if (ended && world.outcomes.size !== calls) faults.push(`${world.outcomes.size} of ${calls} calls answered`);
  return faults;
}

describe("random schedules", () => {
  it(`keep what must hold in ${worlds} worlds, ages within their bound among it (prime-rl 964)`, {
    timeout: 60_000,
  }, async () => {
    const seen = { losses: 0, mixed: 0, skipped: 0, aged: 0 };
    for (let seed = 0; seed < worlds; seed++) {
      const scenario = randomScenario(new Rng(deriveKey(seedKey(seed), "schedule")));
      const world = await runWorld(scenario);
      expect(broken(scenario, world), `seed ${seed}`).toEqual([]);
      seen.losses += world.deviceLosses;
      seen.aged += world.ages.filter((age) => age > 0).length;
      seen.skipped += world.updates.length - (world.versions.at(-1) as number);
      for (const { result } of world.outcomes.values()) {
        if (new Set(result.versions).size > 1) seen.mixed++;
      }
    }
    // The faults and the overlaps did happen.
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(500);
  });

  it(`are the sync run, to the last bit, when nothing may be older than its update, in ${zeroAgeWorlds} worlds`, async () => {
    for (let seed = 0; seed < zeroAgeWorlds; seed++) {
      const drawn = randomScenario(new Rng(deriveKey(seedKey(seed), "zero")));
      // A cancelled call ends at a moment of time, which differs between schedules.
      const scenario = { ...drawn, cancels: new Map<string, number>(), losses: [] };
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
      expect(interleaved.updates).toEqual(sync.updates);
      const tokens = (world: WorldResult) =>
        [...world.outcomes]
          .sort()
          .map(([call, { result }]) => [call, Array.from(result.ids), Array.from(result.versions)]);
      expect(tokens(interleaved)).toEqual(tokens(sync));
    }
  });
});
