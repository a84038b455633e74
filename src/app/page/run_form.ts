import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { ControlRequest } from "../../schema/run_control.ts";
import { type ScriptedReply, scriptedReplySchema } from "../../schema/script.ts";
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

/** The configuration's value at a dotted path. */
export function valueAt(config: ExperimentConfig, path: string): unknown {
  return path.split(".").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], config);
}

/** What of the form's numbers differs from the experiment's, by path; or a sentence about what is no number. */
function changedNumbers(form: FormData, config: ExperimentConfig, say: Say): Record<string, unknown> | string {
  const out: Record<string, unknown> = {};
  for (const { path, text } of numberFields) {
    const typed = String(form.get(path) ?? "").trim();
    const value = Number(typed);
    if (typed === "" || !Number.isFinite(value)) return say("run.badNumber", { field: say(text), value: typed });
    if (value !== valueAt(config, path)) out[path] = value;
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

/** The request that a filled form makes, or a sentence about what is wrong in it. */
export function startRequest(form: FormData, config: ExperimentConfig, say: Say): ControlRequest | string {
  const numbers = changedNumbers(form, config, say);
  if (typeof numbers === "string") return numbers;
  const typed = typedOverrides(String(form.get("overrides") ?? ""), say);
  if (typeof typed === "string") return typed;
  const script = typedScript(String(form.get("script") ?? ""), say);
  if (typeof script === "string") return script;
  const reward = form.get("rewardKind") === "own" ? String(form.get("reward") ?? "") : "";
  return {
    action: "start",
    experiment: String(form.get("experiment")),
    overrides: { ...numbers, ...typed },
    ...(reward.trim() === "" ? {} : { reward }),
    ...(script.length === 0 ? {} : { script }),
  };
}
