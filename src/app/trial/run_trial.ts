import { agentAccess } from "../../rollout/agent_access.ts";
import { ProcessRunner } from "../../rollout/process_runner.ts";
import { type AgentCommand, defaultRunLimits } from "../../schema/agent.ts";
import type { HostPlatform } from "../../schema/platform.ts";
import { newRollout } from "../../schema/rollout.ts";
import type { AgentAccess } from "../../schema/rollout_client.ts";
import { createTrialRollout, endTrialRollout, readTrial, type TrialGateway, trialKey } from "./trial_gateway.ts";
import { type TrialCourse, type TrialRecord, trialRecord } from "./trial_report.ts";

/** One agent to be tried. */
export interface Trial {
  /** Id of the rollout its calls are recorded under; new at the gateway. */
  readonly rolloutId: string;
  readonly gateway: TrialGateway;
  /** Folder of its output, and of all it is given. */
  readonly folder: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The agent's command line for its model's addresses and key. */
  prepare(access: AgentAccess): Promise<AgentCommand>;
}

/** How the agent ended, what it printed, and what was recorded of it. */
export interface TrialResult extends TrialRecord, TrialCourse {
  readonly stdout: string;
  readonly stderr: string;
}

const attemptId = "0";

/**
 * Runs an agent against a gateway and reads what was recorded of it.
 * @throws LeydenError "gateway_unreachable" | "gateway_refused"; the agent's own failures are in the result
 */
export async function runTrial({ processes, files, clock }: HostPlatform, trial: Trial): Promise<TrialResult> {
  const { rolloutId, gateway, folder, signal } = trial;
  const input = { trial: rolloutId };
  await createTrialRollout(gateway, rolloutId, input);
  const rollout = newRollout({ input }, rolloutId, clock.now() / 1000);
  const access = agentAccess(gateway.url, rollout, attemptId, await trialKey(gateway, rolloutId, attemptId));
  await files.makeFolder(folder);
  const agent = await trial.prepare(access);
  const limits = { ...defaultRunLimits, runMs: trial.timeoutMs, silenceMs: 0 };
  const runner = new ProcessRunner({ processes, files, clock });
  const watch = { signal, onStarted: () => {}, activity: async () => 0 };
  const end = await runner.run({ rollout, attemptId, folder, access, agent, limits }, watch);
  await endTrialRollout(gateway, rolloutId, end.exit?.code === 0);
  const { tree, calls, failures } = await readTrial(gateway, rolloutId);
  const text = (name: string) => files.readText(files.join(folder, name)).catch(() => "");
  return {
    ...trialRecord(tree, calls, { end, failures }),
    end,
    stdout: await text("stdout.log"),
    stderr: await text("stderr.log"),
    failures,
  };
}
