import type { GatewayDeps } from "../../../gateway/deps.ts";
import type { ControllerReport } from "../../rollout/controller_options.ts";
import type { RolloutHooks } from "../../rollout/hooks.ts";
import type { Engine } from "../../schema/engine.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { ScriptedReply } from "../../schema/script.ts";
import type { Store } from "../../schema/store.ts";
import type { Dataset } from "../../schema/task.ts";

/** What a session is opened with. */
export interface SessionOptions {
  readonly config: ExperimentConfig;
  /** Folder of the configuration file; its relative paths start here. */
  readonly configFolder: string;
  /** Where attempts' logs go. */
  readonly runFolder: string;
  /** Weights to start from: the base model, or a checkpoint. */
  readonly modelFolder: string;
  /** Folder with optimizer.safetensors, or empty. */
  readonly optimizerFolder: string;
  readonly version: number;
  /** False when nothing will be trained. */
  readonly train: boolean;
  /** SQLite file, or "memory". */
  readonly store: string;
  /** Port of the gateway; default a free one. */
  readonly port?: number;
  /** The gateway's admin key; default a new one. */
  readonly key?: string;
  /** Replies that the model is made to give; empty or absent: it answers by itself. */
  readonly script?: readonly ScriptedReply[];
  /** What the gateway shows and steers besides answering calls. */
  gatewayParts?(store: Store, engine: Engine, tokenBytes: TokenBytes): GatewayParts;
  /** The gateway answers until it resolves, when the agents have ended. */
  farewell?(): Promise<void>;
  /** Runs before the first agent starts. */
  beforeAgents?(store: Store, modules: { readonly dataset: Dataset; readonly hooks: RolloutHooks }): Promise<void>;
  /** Tells the person one line. */
  say(line: string): void;
  report?(report: ControllerReport): void;
}

/** The bytes that a token spells. */
export type TokenBytes = (id: number) => Uint8Array;

/** Parts of a gateway that belong to a run. */
export type GatewayParts = Partial<Omit<GatewayDeps, "store" | "model" | "clock" | "entropy" | "config">>;
