import type { Scenario } from "./scenario.ts";
import { type Outcome, rowsOf, type WorldResult } from "./schedule_world.ts";
import { learnt, stepped } from "./sum_parts.ts";

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
export function broken(scenario: Scenario, world: WorldResult): string[] {
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
