import { asLeydenError, ConfigError } from "../core/errors.ts";
import type { RolloutHooks } from "../rollout/hooks.ts";
import type { CompletionReply, CompletionTask } from "../schema/completion.ts";
import type { Dataset, TaskRow, TaskStream } from "../schema/task.ts";

/** Imports a module by its path in a configuration. @throws ConfigError when it is not there, has a fault or throws */
export type ModuleLoader = (path: string) => Promise<Record<string, unknown>>;

async function exported(load: ModuleLoader, path: string, name: string): Promise<unknown> {
  const module = await load(path);
  if (module[name] !== undefined) return module[name];
  throw new ConfigError(`${path} does not export "${name}".`, { do: `Add: export const ${name} = …;` });
}

/**
 * The dataset of an experiment; what its functions throw or return amiss becomes a ConfigError that names the place.
 * @throws ConfigError when the module exports none
 */
export async function loadDataset(load: ModuleLoader, path: string): Promise<Dataset> {
  const dataset = (await exported(load, path, "dataset")) as Partial<Dataset> | null;
  const { train, heldOut } = dataset ?? {};
  if (typeof train !== "function" || !Array.isArray(heldOut)) {
    throw new ConfigError(`The dataset of ${path} lacks train(seed) or heldOut.`, {
      do: "Export an object of type Dataset.",
    });
  }
  return {
    heldOut: heldOut.map((row, i) => taskRow(row, `heldOut[${i}] of ${path}`)),
    train: (seed) => {
      const stream = called(`train(${seed}) of ${path}`, () => train.call(dataset, seed)) as Partial<TaskStream> | null;
      if (typeof stream?.at !== "function") {
        throw new ConfigError(`train(${seed}) of ${path} returned no TaskStream.`, {
          do: "Return { length, at(index) }.",
        });
      }
      const at = stream.at.bind(stream);
      const place = (index: number): string => `train(${seed}).at(${index}) of ${path}`;
      return {
        length: stream.length ?? Number.POSITIVE_INFINITY,
        at: (index) =>
          taskRow(
            called(place(index), () => at(index)),
            place(index),
          ),
      };
    },
  };
}

/** A person's own code, its error with its place. @throws ConfigError */
function called(place: string, body: () => unknown): unknown {
  try {
    return body();
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError(`${place} threw: ${asLeydenError(cause).message}`, { do: "Correct the module.", cause });
  }
}

function taskRow(row: unknown, place: string): TaskRow {
  const { id, input, hidden } = (row ?? {}) as Partial<Record<keyof TaskRow, unknown>>;
  const isRecord = (part: unknown) => typeof part === "object" && part !== null && !Array.isArray(part);
  if (typeof id === "string" && isRecord(input) && isRecord(hidden)) return row as TaskRow;
  throw new ConfigError(`${place} is no task: it needs id (a text), input and hidden (objects).`, {
    do: "Return rows of type TaskRow.",
  });
}

/** The hooks of an experiment; none for an empty path. @throws ConfigError when the module exports none */
export async function loadHooks(load: ModuleLoader, path: string): Promise<RolloutHooks> {
  return path === "" ? {} : ((await exported(load, path, "hooks")) as RolloutHooks);
}

/** What a completion module's reward function returns. @throws ConfigError when that is of another kind */
function rewardOf(path: string, { tokens }: CompletionReply, body: () => unknown): number | readonly number[] {
  const given = called(`reward of ${path}`, body);
  if (typeof given === "number") return given;
  const fault = (what: string): ConfigError =>
    new ConfigError(`reward of ${path} returned ${what}.`, {
      do: "Return a number, or an array of one number per token.",
    });
  if (!Array.isArray(given)) throw fault(`${shown(given)}, which is no number`);
  const bad = given.findIndex((value) => typeof value !== "number");
  if (bad >= 0) throw fault(`an array whose item ${bad} is ${shown(given[bad])}, which is no number`);
  if (given.length === tokens.length || tokens.length === 0) return given;
  throw fault(`${given.length} numbers for a reply of ${tokens.length} tokens`);
}

/** A value as an error shows it. */
function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length <= 80 ? value : `${value.slice(0, 79)}…`);
  if (value instanceof Promise) return "a promise";
  const isPlain = value === null || (typeof value !== "object" && typeof value !== "function");
  return isPlain ? String(value) : `a value of type ${typeof value}`;
}

/** The completion task of an experiment. @throws ConfigError when the module exports none or one that lacks a part */
export async function loadCompletion(load: ModuleLoader, path: string): Promise<CompletionTask> {
  const task = (await exported(load, path, "completion")) as Partial<CompletionTask> | null;
  const { maxTokens = 0, prompt, reward } = task ?? {};
  if (typeof prompt === "function" && typeof reward === "function" && Number.isInteger(maxTokens) && maxTokens > 0) {
    return {
      maxTokens,
      prompt: (input) => {
        const text: unknown = called(`prompt of ${path}`, () => prompt.call(task, input));
        if (typeof text === "string") return text;
        throw new ConfigError(`prompt of ${path} returned ${shown(text)}, which is no text.`, {
          do: "Return what the policy is asked.",
        });
      },
      reward: (reply) => rewardOf(path, reply, () => reward.call(task, reply)),
    };
  }
  throw new ConfigError(`The completion of ${path} lacks maxTokens, prompt or reward.`, {
    do: "Export an object of type CompletionTask.",
  });
}
