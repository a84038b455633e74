import { ConfigError } from "../core/errors.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";

/** What is set, why one reply without an agent has no use for it, and what to set instead. */
interface Unused {
  readonly key: string;
  readonly value: string;
  readonly why: string;
  readonly to: string;
}

function unusedOf({ rollout, train, schedule }: ExperimentConfig): Unused[] {
  const { reward, grader, graderOptions, hooks, prepare } = rollout;
  const judges = "the module of rollout.completion gives the rewards";
  const found: (Unused | null)[] = [
    schedule.mode === "sync"
      ? null
      : { key: "schedule.mode", value: schedule.mode, why: "replies are drawn and trained in turn", to: "sync" },
    train.policies.length < 2
      ? null
      : {
          key: "train.policies",
          value: train.policies.join(", "),
          why: "one policy draws all replies",
          to: "one name",
        },
    reward === "grader" ? null : { key: "rollout.reward", value: reward, why: judges, to: "grader, its default" },
    grader === "exact" && Object.keys(graderOptions).length === 0
      ? null
      : { key: "rollout.grader", value: grader, why: judges, to: "its default, without options" },
    hooks === "" ? null : { key: "rollout.hooks", value: hooks, why: "no agent's rollouts call them", to: '""' },
    prepare === "" ? null : { key: "rollout.prepare", value: prepare, why: "there is no agent to prepare", to: '""' },
  ];
  return found.flatMap((one) => one ?? []);
}

/** What training on completions would ignore. @throws ConfigError naming the first such setting */
export function checkCompletions(config: ExperimentConfig): void {
  if (config.rollout.completion === "") return;
  const [first] = unusedOf(config);
  if (first === undefined) return;
  const { key, value, why, to } = first;
  throw new ConfigError(`${key} is ${value}; with rollout.completion, ${why}.`, {
    do: `Set ${key} to ${to}, or run an agent by rollout.command in place of rollout.completion.`,
    data: { key, value },
  });
}
