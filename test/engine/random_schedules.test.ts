// Plan: ten thousand random worlds (modes, sizes, tool times, questions to the models, critics, lost devices, bad
// gradients, cancelled calls, failing agents) on the real engine and schedules and a virtual clock. In each: the version
// only grows, a draining step comes over no sequence in flight (checked within the step), no call, question or gradient
// waits for more actions than the schedule promises, every call is answered with tokens of the weights it names and every
// question by weights there were, every group is trained once and not too old, and what an update learns depends on its
// groups and their order alone. And with an age of 0 the interleaved run is the sync run to the last bit.
import { describe, expect, it } from "vitest";
import { deriveKey, Rng, seedKey } from "../../src/core/rng.ts";
import { randomScenario, type Scenario } from "./scenario.ts";
import { type Outcome, rowsOf, runWorld, type WorldResult } from "./schedule_world.ts";
import { learnt, stepped } from "./sum_parts.ts";

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

/** What the policy and the critic should have learnt from their updates' groups, in the order these were started in. */
function wrongWeights({ critic }: Scenario, world: WorldResult): string[] {
  const faults: string[] = [];
  let [policy, judge] = [0, 0];
  for (const [i, batch] of world.updates.entries()) {
    const gradient = learnt(rowsOf([...batch].sort((a, b) => a - b)));
    const version = world.versions[i + 1] as number;
    if (version !== world.versions[i]) policy = stepped(policy, gradient);
    if (world.weights.get(version) !== policy)
      faults.push(`update ${i} made ${world.weights.get(version)} of ${policy}`);
    if (critic) judge = stepped(judge, gradient);
  }
  if (world.critic !== judge) faults.push(`the critic is ${world.critic}, not ${judge}`);
  return faults;
}

/** What a world broke; empty when all holds. */
function broken(scenario: Scenario, world: WorldResult): string[] {
  const faults: string[] = [];
  const { groups, work } = scenario;
  const trained = world.updates.flat().sort((a, b) => a - b);
  if (trained.join() !== work.map((_, g) => g).join()) faults.push(`trained ${trained.join()}`);
  const tooOld = world.ages.filter((age) => age > groups.maxAge);
  if (tooOld.length > 0) faults.push(`ages ${tooOld.join()}`);
  const steps = world.versions.map((v, i) => (i === 0 ? 0 : v - (world.versions[i - 1] as number)));
  if (steps.some((step) => step < 0 || step > 1)) faults.push(`versions ${world.versions.join()}`);
  const wholeUpdates = world.updates.slice(0, -1).every((batch) => batch.length === groups.tasksPerUpdate);
  if (!wholeUpdates) faults.push(`updates of ${world.updates.map((u) => u.length).join()}`);
  faults.push(...world.waits.tooLong, ...wrongWeights(scenario, world));
  for (const { weight, asked, answered } of world.answers) {
    const those = [...world.weights].filter(([version]) => version >= asked && version <= answered);
    if (!those.some(([, known]) => known === weight)) faults.push(`an answer by weight ${weight}`);
  }
  const questions = scenario.questions.reduce((n, { count }) => n + count, 0);
  if (world.answers.length !== questions) faults.push(`${world.answers.length} of ${questions} questions answered`);
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
    const seen = { losses: 0, mixed: 0, skipped: 0, aged: 0, answers: 0, judged: 0 };
    for (let seed = 0; seed < worlds; seed++) {
      const scenario = randomScenario(new Rng(deriveKey(seedKey(seed), "schedule")));
      const world = await runWorld(scenario);
      expect(broken(scenario, world), `seed ${seed}`).toEqual([]);
      seen.losses += world.deviceLosses;
      seen.aged += world.ages.filter((age) => age > 0).length;
      seen.answers += world.answers.length;
      seen.judged += world.judged.length;
      seen.skipped += world.updates.length - (world.versions.at(-1) as number);
      for (const { result } of world.outcomes.values()) {
        if (new Set(result.versions).size > 1) seen.mixed++;
      }
    }
    // The faults and the overlaps did happen.
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(500);
  });

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
