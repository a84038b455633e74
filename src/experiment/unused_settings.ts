/** Settings that nothing would read, by one table: what is set in vain is refused, lest a run be taken for another one. */
import { ConfigError } from "../core/errors.ts";
import { policyLosses } from "../rl/losses/registry.ts";
import { type ExperimentConfig, experimentSchema } from "../schema/experiment.ts";
import type { TrainConfig } from "../schema/train_config.ts";
import { isSameValue, valueAt } from "./config_values.ts";

/** One setting, by its dotted path. */
interface Setting {
  readonly key: string;
  /** Why nothing reads it in such a run; null where something does. */
  why(config: ExperimentConfig): string | null;
  /** What makes it be read. */
  readonly instead: string;
}

/** A setting of `train` that nothing reads when `unread` holds. */
function train(key: string, unread: (t: TrainConfig) => boolean, why: string, instead: string): Setting {
  const said = (t: TrainConfig): string => why.replace("{loss}", t.loss);
  return { key: `train.${key}`, instead, why: (config) => (unread(config.train) ? said(config.train) : null) };
}

/** A setting that one reply without an agent has no use for. */
function agents(key: string, why: string, reads: (config: ExperimentConfig) => boolean = () => false): Setting {
  return {
    key,
    why: (config) => (config.rollout.completion === "" || reads(config) ? null : `with rollout.completion, ${why}`),
    instead: "run an agent by rollout.command in place of rollout.completion",
  };
}

/** Names under which the policy losses state what `lossOptions` overrides. */
const lossOptionNames = {
  cap: ["cap", "maxRatio"],
  tauPositive: ["tauPositive"],
  tauNegative: ["tauNegative"],
  beta: ["beta"],
};

/** True when the loss states an option of one of these names. */
function hasOption({ loss }: TrainConfig, names: readonly string[]): boolean {
  return names.some((name) => Object.hasOwn(policyLosses[loss].defaults, name));
}

const judges = "the module of rollout.completion gives the rewards";
const noProcess = "there is no agent's process";
const noRange = "{loss} has no clip range";
const noCorrection = "train.correction is none";
const noAdapter = "all weights are trained, without an adapter (train.loraRank is 0)";
const correct = "set train.correction to token, sequence or geometric";
const adapt = "set train.loraRank, for example to 16";
const uncorrected = ({ correction }: TrainConfig): boolean => correction === "none";
const whole = ({ loraRank }: TrainConfig): boolean => loraRank === 0;
const clipless = (t: TrainConfig): boolean => !hasOption(t, ["clipLow", "maxDecrease"]);

const settings: readonly Setting[] = [
  // 0, which turns it off, is as true of losses that have none.
  train("dualClip", (t) => t.loss !== "ppo" && t.dualClip !== 0, "{loss} has no dual clip", "use train.loss ppo"),
  train("clipLow", clipless, noRange, "use a loss that clips"),
  train("clipHigh", clipless, noRange, "use a loss that clips"),
  ...Object.entries(lossOptionNames).map(([name, names]) =>
    train(`lossOptions.${name}`, (t) => !hasOption(t, names), `{loss} has no ${name}`, "use a loss that has it"),
  ),
  train(
    "ratioOf",
    ({ loss }) => loss !== "gspo" && loss !== "gmpo",
    "{loss} takes a ratio of every token",
    "use train.loss gspo or gmpo",
  ),
  train("callDiscount", ({ level }) => level !== "call", "only train.level call discounts", "set train.level to call"),
  train(
    "normalisationLength",
    ({ normalisation }) => normalisation !== "seq-mean-token-sum-norm",
    "train.normalisation divides by no length",
    "set train.normalisation to seq-mean-token-sum-norm",
  ),
  train("correctionBound", uncorrected, noCorrection, correct),
  train("correctionLow", uncorrected, noCorrection, correct),
  train("correctionHigh", uncorrected, noCorrection, correct),
  train("correctionNormalise", uncorrected, noCorrection, correct),
  train(
    "correctionLow",
    ({ correctionBound }) => correctionBound === "truncate",
    "train.correctionBound truncate has only an upper bound",
    "set train.correctionBound to mask",
  ),
  train("klTarget", ({ klCoef }) => klCoef === 0, "a train.klCoef of 0 stays 0", "set train.klCoef"),
  train("klKind", ({ klIn }) => klIn === "reward", "a KL in the reward is always k1", "set train.klIn to loss"),
  train("loraAlpha", whole, noAdapter, adapt),
  train("loraTargets", whole, noAdapter, adapt),
  train("rslora", whole, noAdapter, adapt),
  agents("schedule.mode", "replies are drawn and trained in turn"),
  agents("train.policies", "one policy draws all replies", ({ train: { policies } }) => policies.length < 2),
  ...["rollout.reward", "rollout.grader", "rollout.graderOptions"].map((key) => agents(key, judges)),
  agents("rollout.hooks", "no agent's rollouts call them"),
  agents("rollout.prepare", "there is no agent to prepare"),
  ...["cwd", "env", "envMap", "stdin", "workspace", "inheritEnv", "concurrency", "startConcurrency", "nice"]
    .concat(["timeoutSeconds", "queueSeconds", "silenceSeconds", "outputBytes", "retries"])
    .map((key) => agents(`rollout.${key}`, noProcess)),
];

/** As a configuration would write it, but for texts, which stand as they are. */
function shown(value: unknown): string {
  if (typeof value === "string") return value === "" ? '""' : value;
  if (Array.isArray(value) && value.length > 0) return value.join(", ");
  return JSON.stringify(value);
}

/**
 * What is set, that is to another value than the default, and would be ignored. A value that a run which goes on has
 * recorded is passed over: it was taken when the run began.
 * @throws ConfigError naming the first such setting
 */
export function checkUnused(config: ExperimentConfig, recorded: ExperimentConfig | null): void {
  const { model, task, rollout } = config;
  const { command, completion } = rollout;
  const defaults = experimentSchema.parse({ model: { path: model.path }, task, rollout: { command, completion } });
  for (const { key, why, instead } of settings) {
    const value = valueAt(config, key);
    const byDefault = valueAt(defaults, key);
    if (isSameValue(value, byDefault) || (recorded !== null && isSameValue(value, valueAt(recorded, key)))) continue;
    const reason = why(config);
    if (reason === null) continue;
    const back = byDefault === undefined ? `Leave ${key} out` : `Set ${key} to ${shown(byDefault)}`;
    throw new ConfigError(`${key} is ${shown(value)}; ${reason}.`, {
      do: `${back}, or ${instead}.`,
      data: { key, value: shown(value) },
    });
  }
}
