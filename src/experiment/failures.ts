import { LeydenError } from "../core/errors.ts";
import { agentAccess } from "../rollout/agent_access.ts";
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

/** The cause of rollouts that ended well without a call: there is nothing in them to learn from. */
export const silentCode = "no_call";

/**
 * Why rollouts of finished groups failed or, under `silentCode`, left nothing to learn from, the most frequent cause
 * first.
 */
export async function countFailures(store: Store, groups: readonly Group[]): Promise<FailureCount[]> {
  const counts = new Map<string, FailureCount>();
  const count = (code: string, message: string): void => {
    const before = counts.get(code);
    counts.set(code, { code, count: (before?.count ?? 0) + 1, message: before?.message ?? message });
  };
  const ids = groups.flatMap((g) => g.rolloutIds);
  const called = await calledOf(store, ids);
  for (const id of ids) {
    const rollout = await store.rollout(id);
    if (rollout?.status.state === "failed") {
      const { code, message } = causeOf(rollout);
      count(code, message);
    } else if (rollout?.status.state === "succeeded" && !called.has(id)) {
      count(silentCode, "The agent ended well without asking its model anything.");
    }
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}

/** Those of some rollouts that have a recorded call. */
async function calledOf(store: Store, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await store.summaries({ ids, limit: ids.length });
  return new Set(rows.filter(({ calls }) => calls > 0).map(({ id }) => id));
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

/** Characters of an agent's first lines, and of its last, that an error repeats. */
const repeated = 400;

/** What of a program's errors tells most: first and last lines, without the stack frames between them. */
function tellingLines(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !/^\s+at /.test(line));
  const told = lines.join("\n").trim();
  return told.length <= 2 * repeated ? told : `${told.slice(0, repeated)} … ${told.slice(-repeated)}`;
}

/** How agents find their model, and what to do about those that do not. */
function adviceFor(rollout: Pick<Rollout, "rollout_id" | "is_train">, attemptId: string): string {
  const { openaiBaseUrl, nativeBaseUrl } = agentAccess("", rollout, attemptId, "");
  return (
    "Mend the agent or its command line, then pass --resume: these rollouts are run again. Its model was at " +
    `OPENAI_BASE_URL (…${openaiBaseUrl}), ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL (…${nativeBaseUrl}), with ` +
    "OPENAI_API_KEY, ANTHROPIC_API_KEY and GEMINI_API_KEY: check that the agent reads those of its dialect, not an " +
    "address or key of its own."
  );
}

/**
 * Ends a run in which no agent of an update has asked its model anything, whether they failed or ended well: there is
 * nothing to train on, and the next agents would do alike. The error repeats what tells of the first one's stderr.
 * @throws LeydenError "rollouts_failed"
 */
export async function requireSomeCalled(
  { store, folder }: { store: Store; folder: Pick<RunFolder, "errorsOf"> },
  update: number,
  groups: readonly Group[],
  failures: readonly FailureCount[],
): Promise<void> {
  const ids = groups.flatMap((g) => g.rolloutIds);
  const [cause] = failures;
  if (cause === undefined || failures.reduce((n, f) => n + f.count, 0) < ids.length) return;
  for (const id of ids) if ((await store.calls(id)).length > 0) return;
  const first = { rollout_id: ids[0] as string, is_train: true };
  const attemptId = (await store.rollout(first.rollout_id))?.status.last_attempt_id ?? "0";
  const words = tellingLines(await folder.errorsOf(first.rollout_id, attemptId));
  const refused = (await store.failures(first.rollout_id)).at(-1);
  const parts = [
    `None of the ${ids.length} agents of update ${update} called its model: ${cause.code}: ${cause.message}`,
    refused === undefined ? "" : `The first one's last call was refused: ${refused.code}: ${refused.message}`,
    words === "" ? "The first one wrote no error." : `The first one wrote: ${words}`,
  ];
  throw new LeydenError(
    "rollouts_failed",
    parts.filter((part) => part !== "").join(" "),
    { do: adviceFor(first, attemptId), data: { update, failures } },
    2,
  );
}
