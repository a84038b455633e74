import { LeydenError } from "../core/errors.ts";
import { isAgentsOwn } from "../rollout/failure.ts";
import type { Store } from "../schema/store.ts";
import type { Rollout } from "../schema/wire.ts";
import type { Group } from "./groups.ts";
import type { RunFolder } from "./run_folder.ts";

/** Failed rollouts with one cause. */
export interface FailureCount {
  /** The failure's stable name; empty where whoever ended the rollout gave none. */
  readonly code: string;
  readonly count: number;
  /** What the first of them says. */
  readonly message: string;
}

/** Code and text of a failed rollout, as its error message has them: "code: text". */
function causeOf(rollout: Rollout): { code: string; message: string } {
  const text = rollout.status.error_message ?? "";
  const [, code = "", message = text] = /^([a-z_]+): (.*)$/s.exec(text) ?? [];
  return { code, message };
}

/** True when the rollout failed for want of something that neither agent nor policy decides: it can be run again. */
export function failedAround(rollout: Rollout): boolean {
  return rollout.status.state === "failed" && !isAgentsOwn(causeOf(rollout).code);
}

/** Why rollouts of finished groups failed, the most frequent cause first. */
export async function countFailures(store: Store, groups: readonly Group[]): Promise<FailureCount[]> {
  const counts = new Map<string, FailureCount>();
  for (const id of groups.flatMap((g) => g.rolloutIds)) {
    const rollout = await store.rollout(id);
    if (rollout?.status.state !== "failed") continue;
    const { code, message } = causeOf(rollout);
    const before = counts.get(code);
    counts.set(code, { code, count: (before?.count ?? 0) + 1, message: before?.message ?? message });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}

/**
 * Ends a run whose every rollout of an update failed around the agent: further updates would fail alike.
 * @throws LeydenError "rollouts_failed" with the first cause
 */
export function requireSomeRan(update: number, failures: readonly FailureCount[], rollouts: number): void {
  const around = failures.filter(({ code }) => !isAgentsOwn(code));
  const [first] = around;
  if (first === undefined || around.reduce((n, f) => n + f.count, 0) < rollouts) return;
  throw new LeydenError(
    "rollouts_failed",
    `None of the ${rollouts} rollouts of update ${update} could be run: ${first.code}: ${first.message}`,
    { do: "Mend that, then pass --resume: these rollouts are run again.", data: { update, failures: around } },
    2,
  );
}

/** Characters of an agent's last words that an error repeats. */
const lastWords = 400;

/**
 * Ends a run in which every agent of an update failed before it had asked its model anything: there is nothing to train
 * on, and the next agents would fail alike. The error repeats the end of what the first of them wrote to stderr.
 * @throws LeydenError "rollouts_failed"
 */
export async function requireSomeCalled(
  { store, folder }: { store: Store; folder: Pick<RunFolder, "errorsOf"> },
  update: number,
  groups: readonly Group[],
  failures: readonly FailureCount[],
): Promise<void> {
  const ids = groups.flatMap((g) => g.rolloutIds);
  const [first] = failures;
  if (first === undefined || failures.reduce((n, f) => n + f.count, 0) < ids.length) return;
  for (const id of ids) if ((await store.calls(id)).length > 0) return;
  const rollout = await store.rollout(ids[0] as string);
  const words = (await folder.errorsOf(ids[0] as string, rollout?.status.last_attempt_id ?? "")).trim();
  const said = words === "" ? "It wrote no error." : `It wrote: ${words.slice(-lastWords)}`;
  throw new LeydenError(
    "rollouts_failed",
    `None of the ${ids.length} agents of update ${update} called its model: ${first.code}: ${first.message} ${said}`,
    { do: "Mend the agent or its command line, then start the run anew.", data: { update, failures } },
    2,
  );
}
