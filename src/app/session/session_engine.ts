import type { Engine } from "../../schema/engine.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { Files } from "../../schema/files.ts";
import type { AdapterOptions } from "../../schema/lora.ts";
import type { Platform } from "../../schema/platform.ts";
import { pathFrom } from "../config_paths.ts";
import { openEngine } from "../open_engine.ts";
import type { SessionOptions } from "./session_options.ts";

/** The engine of a run: policy, and the reference policy and the critic where the objective takes them. */
export function openSessionEngine(
  platform: Platform,
  o: Pick<SessionOptions, "config" | "configFolder" | "modelFolder" | "optimizerFolder" | "version" | "train">,
): Promise<Engine> {
  const { model, train } = o.config;
  const needsReference = o.train && train.klCoef !== 0;
  const needsCritic = o.train && train.critic === "separate";
  const own = platform.files.join(o.optimizerFolder, "critic");
  const base = pathFrom(platform.files, o.configFolder, model.path);
  return openEngine(platform, {
    modelFolder: o.modelFolder,
    optimizerFolder: o.optimizerFolder,
    referenceFolder: needsReference ? base : "",
    criticFolder: needsCritic ? (o.optimizerFolder === "" ? base : own) : "",
    valueHead: o.train && train.critic === "head",
    version: o.version,
    train: o.train,
    contextLength: model.contextLength,
    kvTokens: model.kvTokens,
    kvFormat: model.kvFormat,
    maxSequences: model.maxSequences,
    prefillTokens: model.prefillTokens,
    burst: model.burst,
    microBatchTokens: train.microBatchTokens,
    recomputedLayers: train.recomputedLayers,
    optimizerStates: train.optimizerStates,
    adapters:
      o.train && train.loraRank > 0 ? policyNames(o.config).map((name) => adapterOf(o, name, platform.files)) : [],
    weights: model.weights,
    memoryBytes: model.memoryBytes,
    seed: o.config.seed,
    inFlight: o.config.schedule.mode === "interleaved" ? o.config.schedule.inFlight : "drain",
    stepsPerQuantum: o.config.schedule.stepsPerQuantum,
    faults: platform.env.LEYDEN_FAULT ?? "",
  });
}

/** Names of the policies that a run trains, the default first. */
export function policyNames({ model, train }: ExperimentConfig): string[] {
  return train.policies.length === 0 ? [model.name] : train.policies;
}

/** An adapter that a run trains, or continues with; a checkpoint keeps several in folders of their own. */
function adapterOf(
  { config, optimizerFolder }: Pick<SessionOptions, "config" | "optimizerFolder">,
  name: string,
  files: Files,
): AdapterOptions {
  const { loraRank: rank, loraAlpha: alpha, loraTargets: targets, rslora } = config.train;
  const several = policyNames(config).length > 1 && optimizerFolder !== "";
  const folder = several ? files.join(optimizerFolder, name) : optimizerFolder;
  return { name, folder, lora: { rank, alpha, targets, rslora } };
}
