import type { GatewayApp } from "../../../gateway/app.ts";
import { Controller } from "../../rollout/controller.ts";
import type { ControllerOptions } from "../../rollout/controller_options.ts";
import { bindGrader } from "../../rollout/graders/registry.ts";
import type { RolloutHooks } from "../../rollout/hooks.ts";
import { ProcessRunner } from "../../rollout/process_runner.ts";
import { Settler, taskOfRollout } from "../../rollout/settle.ts";
import { StoreClient } from "../../rollout/store_client.ts";
import { type AgentCommand, defaultRunLimits } from "../../schema/agent.ts";
import type { BoundedWork } from "../../schema/grader.ts";
import type { Store } from "../../schema/store.ts";
import type { EditedReward } from "../reward/edited_reward.ts";
import type { RunHost } from "../run_host.ts";
import type { SessionOptions } from "./session_options.ts";

/** How long an agent counts as starting at most. */
const startWindowMs = 2_000;
const retryDelayMs = 500;

/** What a controller of a session works with. */
export interface ControlledParts {
  readonly store: Store;
  readonly app: GatewayApp;
  /** Address of the gateway as agents reach it. */
  readonly gatewayUrl: string;
  readonly hooks: RolloutHooks;
  /** Judges by the function that a configuration holds. */
  readonly editedReward: EditedReward;
  /** Computes what other texts of a configuration ask for. */
  readonly bounded: BoundedWork;
}

/** The controller that runs an experiment's agents. @throws ConfigError about the agent or the grader */
export async function openSessionController(
  host: RunHost,
  options: SessionOptions,
  { store, app, gatewayUrl, hooks, editedReward, bounded }: ControlledParts,
): Promise<Controller> {
  const { processes } = host;
  const { files, clock } = host.platform;
  const { reward, grader, graderOptions } = options.config.rollout;
  const client = new StoreClient({
    store,
    clock,
    gatewayUrl,
    keyOf: (rolloutId, attemptId) => app.issueKey(rolloutId, attemptId),
    waitingCalls: (rolloutId, attemptId) => app.waitingCalls(rolloutId, attemptId),
  });
  const settler = new Settler({
    rewardSource: reward,
    grader: reward === "grader" ? bindGrader(grader, graderOptions, [editedReward.grader]) : null,
    hooks,
    taskOf: taskOfRollout,
    tools: { files, processes, clock, bounded },
  });
  const launcher = host.launcher(options.config);
  return new Controller(controllerOptions(options, await host.agent(options)), {
    client,
    runner: new ProcessRunner({ processes, files, clock, launcher }),
    settler,
    clock,
    files,
    report: (report) => {
      options.report?.(report);
      if (report.kind === "error") options.say(`${report.where}: ${report.error.message}`);
    },
  });
}

function controllerOptions({ config, runFolder }: SessionOptions, agent: AgentCommand): ControllerOptions {
  const r = config.rollout;
  return {
    agent,
    concurrency: r.concurrency,
    startConcurrency: r.startConcurrency,
    startWindowMs,
    limits: {
      ...defaultRunLimits,
      queueMs: r.queueSeconds * 1000,
      runMs: r.timeoutSeconds * 1000,
      silenceMs: r.silenceSeconds * 1000,
      outputBytes: r.outputBytes,
    },
    retries: { infrastructure: r.retries },
    retryDelayMs,
    onShutdown: "leave",
    runFolder,
  };
}
