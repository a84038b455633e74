import { ConfigError, FormatError } from "../core/errors.ts";
import { didYouMean } from "../core/nearest.ts";
import { type ExperimentConfig, type ExperimentInput, experimentSchema } from "../schema/experiment.ts";
import type { Files } from "../schema/files.ts";
import { checkAgent, checkObjective } from "./check_objective.ts";
import { checkUnused } from "./unused_settings.ts";

/** A configuration with the editor's help; returns it unchanged. */
export function defineExperiment(config: ExperimentInput): ExperimentInput {
  return config;
}

/**
 * The configuration that a run was started with, from its folder; null where none was written. What is refused at a start
 * today may have been taken when this one was: what is recorded is read for what it says.
 * @throws FormatError "run_config" when it is damaged
 */
export async function readRunConfig(files: Files, runFolder: string): Promise<ExperimentConfig | null> {
  const path = files.join(runFolder, "config.json");
  if (!(await files.exists(path))) return null;
  try {
    return parseShape(JSON.parse(await files.readText(path)));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FormatError("run_config", `${path} is no configuration of a run: ${reason}`, {
      do: "Restore the file from a copy, or remove it to look at the run without.",
      cause,
    });
  }
}

type Plain = Record<string, unknown>;

interface Issue {
  readonly code?: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
}

/** Groups in flight where a configuration leaves their number open: twice those of an update. */
function withActiveGroups(config: ExperimentConfig): ExperimentConfig {
  const { schedule, train } = config;
  if (schedule.mode === "sync" || schedule.activeGroups > 0) return config;
  return { ...config, schedule: { ...schedule, activeGroups: 2 * train.tasksPerUpdate } };
}

/**
 * A configuration by the schema alone, its defaults filled in: for one that a run has recorded, which is looked at or
 * compared. A start asks `parseConfig`.
 * @throws ConfigError naming every unknown key with its nearest known one, and every value out of range.
 */
export function parseShape(input: unknown): ExperimentConfig {
  const parsed = experimentSchema.safeParse(input);
  if (!parsed.success) {
    const lines = (parsed.error.issues as readonly Issue[]).map(describe);
    throw new ConfigError(`The configuration has ${lines.length === 1 ? "a fault" : "faults"}: ${lines.join("; ")}.`, {
      do: "Correct these keys; src/schema/experiment.ts lists all of them.",
    });
  }
  return withActiveGroups(parsed.data);
}

/**
 * Checks a configuration that is to be run, and fills in defaults. `recorded`: that of the run which is to go on, whose
 * own values are not held against it where they would be ignored.
 * @throws ConfigError as parseShape, and on settings that contradict each other or would be ignored.
 */
export function parseConfig(input: unknown, recorded: ExperimentConfig | null = null): ExperimentConfig {
  const config = parseShape(input);
  checkObjective(config.train);
  checkAgent(config.rollout);
  checkUnused(config, recorded);
  const { mode, activeGroups } = config.schedule;
  if (mode !== "sync" && activeGroups <= config.train.tasksPerUpdate) {
    throw new ConfigError(
      `schedule.activeGroups is ${activeGroups}; ${mode} mode needs more than train.tasksPerUpdate (${config.train.tasksPerUpdate}).`,
      { do: "Raise schedule.activeGroups, or use schedule.mode sync." },
    );
  }
  return config;
}

function describe(issue: Issue): string {
  const place = issue.path.map(String).join(".");
  if (issue.code !== "unrecognized_keys") return `${place || "configuration"}: ${issue.message}`;
  const prefix = place === "" ? "" : `${place}.`;
  const known = knownKeys(issue.path);
  return (issue.keys ?? []).map((key) => `unknown key ${prefix}${key} (${didYouMean(key, known)})`).join("; ");
}

/** Keys of a section, read off a complete configuration so that they cannot drift from the schema. */
function knownKeys(path: readonly PropertyKey[]): string[] {
  const complete = experimentSchema.parse({
    model: { path: "m" },
    task: { dataset: "d" },
    rollout: { command: ["c"] },
  }) as unknown as Plain;
  const section = path.length === 0 ? complete : (complete[String(path[0])] as Plain | undefined);
  return Object.keys(section ?? {});
}

/**
 * A copy of `input` with `a.b=c` applied; c is read as JSON where it is JSON, else as text.
 * @throws ConfigError when an override has no "=" or goes deeper than the configuration.
 */
export function withOverrides(input: unknown, overrides: readonly string[]): Plain {
  const out = structuredClone(input ?? {}) as Plain;
  for (const override of overrides) {
    const at = override.indexOf("=");
    const path = override.slice(0, Math.max(0, at)).split(".");
    if (at <= 0 || path.some((p) => p === "")) {
      throw new ConfigError(`The override "${override}" is not of the form section.key=value.`, {
        do: "Write for example --set train.learningRate=0.0005.",
      });
    }
    setPath(out, path, readValue(override.slice(at + 1)), override);
  }
  return out;
}

function setPath(target: Plain, path: readonly string[], value: unknown, override: string): void {
  let place = target;
  for (const key of path.slice(0, -1)) {
    place[key] ??= {};
    const next = place[key];
    if (typeof next !== "object" || next === null || Array.isArray(next)) {
      throw new ConfigError(`The override "${override}" goes into "${key}", which holds a value.`, {
        do: "Override the value itself.",
      });
    }
    place = next as Plain;
  }
  place[path.at(-1) as string] = value;
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
