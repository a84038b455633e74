import { isSameValue, otherValues, valueAt } from "../../experiment/config_values.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { ControlRequest, ExperimentChoice } from "../../schema/run_control.ts";
import { type ScriptedReply, scriptedReplySchema } from "../../schema/script.ts";
import { editedRewardName } from "../reward/edited_reward_name.ts";
import type { Say, TextKey } from "./texts.ts";

/** A number of the configuration that the form shows by itself. */
export interface NumberField {
  /** Dotted path in the configuration, and name of the input. */
  readonly path: string;
  readonly text: TextKey;
  readonly step: string;
  readonly min: number;
}

export const numberFields: readonly NumberField[] = [
  { path: "train.updates", text: "run.updates", step: "1", min: 1 },
  { path: "train.tasksPerUpdate", text: "run.tasks", step: "1", min: 1 },
  { path: "train.groupSize", text: "run.group", step: "1", min: 1 },
  { path: "train.learningRate", text: "run.rate", step: "any", min: 0 },
  { path: "train.temperature", text: "run.temperature", step: "any", min: 0 },
  { path: "rollout.concurrency", text: "run.concurrency", step: "1", min: 1 },
];

/** What the button that sends the form asks for. */
export type StartIntent = "start" | "paused" | "resume";

/** What a form shows at first: what the kept run of the experiment has, or the experiment itself. */
export interface FormValues {
  /** Where the numbers are read. */
  readonly config: ExperimentConfig;
  /** What else is not the experiment's own, by path. */
  readonly overrides: Readonly<Record<string, unknown>>;
  /** Text of the reward that was written here; empty for the experiment's own. */
  readonly reward: string;
}

/** What says that the reward was written in the page, and its text. */
const rewardPaths = ["rollout.reward", "rollout.grader", "rollout.graderOptions"];

/** What the fields of the form show by themselves, by their names. */
export function shownTexts({ config, overrides, reward }: FormValues): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries(numberFields.map(({ path }) => [path, String(valueAt(config, path) ?? "")])),
    rewardKind: reward === "" ? "configured" : "own",
    reward,
    overrides: Object.keys(overrides).length === 0 ? "" : JSON.stringify(overrides, null, 1),
    script: "",
  };
}

/** What the form of an experiment shows at first. */
export function formValues({ config, kept }: Pick<ExperimentChoice, "config" | "kept">): FormValues {
  if (kept === undefined) return { config, overrides: {}, reward: "" };
  const reward = editedReward(kept);
  const fields = [...numberFields.map(({ path }) => path), ...(reward === "" ? [] : rewardPaths)];
  const overrides = Object.entries(otherValues(kept, config)).filter(([path]) => !fields.includes(path));
  return { config: kept, overrides: Object.fromEntries(overrides), reward };
}

function editedReward({ rollout: { reward, grader, graderOptions } }: ExperimentConfig): string {
  const source = reward === "grader" && grader === editedRewardName ? valueAt(graderOptions, "source") : "";
  return typeof source === "string" ? source : "";
}

/** The form's numbers by path; or a sentence about what is no number. */
function typedNumbers(form: FormData, say: Say): Record<string, number> | string {
  const out: Record<string, number> = {};
  for (const { path, text } of numberFields) {
    const typed = String(form.get(path) ?? "").trim();
    const value = Number(typed);
    if (typed === "" || !Number.isFinite(value)) return say("run.badNumber", { field: say(text), value: typed });
    out[path] = value;
  }
  return out;
}

function typedOverrides(text: string, say: Say): Record<string, unknown> | string {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    return say("run.badOverrides", { reason: text.slice(0, 40) });
  } catch (thrown) {
    return say("run.badOverrides", { reason: thrown instanceof Error ? thrown.message : String(thrown) });
  }
}

/** Replies to force, one line of JSON each; or a sentence about the line that is none. */
function typedScript(text: string, say: Say): ScriptedReply[] | string {
  const out: ScriptedReply[] = [];
  for (const [i, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    try {
      out.push(scriptedReplySchema.parse(JSON.parse(line)));
    } catch {
      return say("run.badScript", { line: i + 1 });
    }
  }
  return out;
}

/** What a filled form says. */
interface Filled {
  readonly numbers: Readonly<Record<string, number>>;
  readonly overrides: Readonly<Record<string, unknown>>;
  readonly reward: string;
}

/** What of the form is not in a configuration. */
function changesOf({ numbers, overrides }: Filled, config: ExperimentConfig): Record<string, unknown> {
  const asked = Object.entries({ ...numbers, ...overrides });
  return Object.fromEntries(asked.filter(([path, value]) => !isSameValue(value, valueAt(config, path))));
}

/** What of the kept run was taken out of the form: the experiment's own values come back there. */
function setBack(filled: Filled, shown: FormValues): Record<string, null> {
  const gone = Object.keys(shown.overrides).filter((path) => !(path in filled.overrides));
  const paths = shown.reward !== "" && filled.reward === "" ? [...gone, ...rewardPaths] : gone;
  return Object.fromEntries(paths.map((path) => [path, null]));
}

/** The request that a filled form makes, or a sentence about what is wrong in it. */
export function startRequest(
  form: FormData,
  choice: Pick<ExperimentChoice, "config" | "kept">,
  intent: StartIntent,
  say: Say,
): ControlRequest | string {
  const numbers = typedNumbers(form, say);
  if (typeof numbers === "string") return numbers;
  const overrides = typedOverrides(String(form.get("overrides") ?? ""), say);
  if (typeof overrides === "string") return overrides;
  const script = typedScript(String(form.get("script") ?? ""), say);
  if (typeof script === "string") return script;
  const text = form.get("rewardKind") === "own" ? String(form.get("reward") ?? "") : "";
  const filled = { numbers, overrides, reward: text.trim() === "" ? "" : text };
  const shown = formValues(choice);
  const isResumed = intent === "resume";
  const isRewarded = filled.reward !== "" && !(isResumed && filled.reward === shown.reward);
  return {
    action: "start",
    experiment: String(form.get("experiment")),
    overrides: isResumed
      ? { ...setBack(filled, shown), ...changesOf(filled, shown.config) }
      : changesOf(filled, choice.config),
    ...(isRewarded ? { reward: filled.reward } : {}),
    ...(script.length === 0 ? {} : { script }),
    ...(isResumed ? { resume: true } : {}),
    ...(intent === "paused" ? { paused: true } : {}),
  };
}
