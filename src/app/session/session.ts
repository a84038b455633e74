import { requireHeldOut, requireValidation } from "../../experiment/evaluation.ts";
import { BoundedClient } from "../../rollout/graders/bounded_client.ts";
import type { RolloutHooks } from "../../rollout/hooks.ts";
import type { Engine } from "../../schema/engine.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { Store } from "../../schema/store.ts";
import type { Dataset } from "../../schema/task.ts";
import type { RolloutConfig } from "../../schema/wire.ts";
import { loadDataset, loadHooks, type ModuleLoader } from "../load_modules.ts";
import { openCodec } from "../open_codec.ts";
import { EditedReward } from "../reward/edited_reward.ts";
import type { RunHost } from "../run_host.ts";
import { type OpenedParts, openParts } from "./opened_parts.ts";
import { openSessionController } from "./session_controller.ts";
import { openSessionEngine } from "./session_engine.ts";
import { openSessionGateway } from "./session_gateway.ts";
import type { SessionOptions } from "./session_options.ts";

/** Engine, gateway, store and controller at work together in one program. */
export interface Session {
  readonly engine: Engine;
  readonly store: Store;
  readonly dataset: Dataset;
  readonly rolloutConfig: RolloutConfig;
  readonly hooks: RolloutHooks;
  readonly gatewayUrl: string;
  /** Ends agents, gateway, engine and store, in this order. */
  close(): Promise<void>;
}

const drainMs = 10_000;

/** Opens everything a run needs. @throws LeydenError whatever is missing or wrong; nothing is left running then */
export function openSession(host: RunHost, options: SessionOptions): Promise<Session> {
  return openParts((opened) => open(host, options, opened));
}

async function open(host: RunHost, options: SessionOptions, opened: OpenedParts): Promise<Omit<Session, "close">> {
  const { config, configFolder } = options;
  const { platform } = host;
  const load: ModuleLoader = (path) => host.importModule(configFolder, path);
  const dataset = await loadDataset(load, config.task.dataset);
  if (options.train) requireValidation(config, dataset);
  else requireHeldOut(dataset, "Held-out tasks are asked for", "Give heldOut tasks that are in no stream.");
  const store = await host.openStore(options.store);
  opened.add(() => store.close());
  const engine = await openSessionEngine(platform, options);
  opened.add(() => engine.close());
  const codec = await openCodec(platform, options.modelFolder);
  opened.add(() => codec.close());
  const app = openSessionGateway(platform, options, store, engine, codec);
  const served = await host.listen(app, { host: "127.0.0.1", port: options.port ?? 0 });
  opened.add(() => served.close(drainMs));
  opened.add(async () => options.farewell?.());
  const hooks = await loadHooks(load, config.rollout.hooks);
  const editedReward = new EditedReward(platform);
  opened.add(async () => editedReward.end());
  const spawn = () => platform.spawnWorker(new URL("../bounded_worker.ts", import.meta.url));
  const bounded = new BoundedClient({ spawn, clock: platform.clock });
  opened.add(() => bounded.close());
  const parts = { store, app, gatewayUrl: served.url, hooks, editedReward, bounded };
  const controller = await openSessionController(host, options, parts);
  await options.beforeAgents?.(store, { dataset, hooks });
  const stop = new AbortController();
  const controlled = controller.run(stop.signal);
  opened.add(() => {
    stop.abort();
    return controlled;
  });
  return { engine, store, dataset, rolloutConfig: rolloutConfigOf(config), hooks, gatewayUrl: served.url };
}

function rolloutConfigOf({ rollout }: ExperimentConfig): RolloutConfig {
  return {
    timeout_seconds: Math.ceil(rollout.timeoutSeconds),
    local: null,
    k8s: null,
    reward: { source: rollout.reward },
  };
}
