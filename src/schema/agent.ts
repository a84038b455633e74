import { z } from "zod";

/**
 * The harness as a command line. In `command`, `env` and `stdin` these are replaced: {input} (the task's input as
 * JSON), {input.a.0.b} (a part of it), {input_file} (a file that holds it), {workspace}, {rollout_id}, {attempt_id},
 * {base_url} (OpenAI base path), {event_url}, {key}. Other braces stay as they are. There is no shell.
 */
export interface AgentCommand {
  /** Program and arguments. */
  command: readonly string[];
  /** Working folder; default: the attempt's workspace, or the controller's own folder when there is none. */
  cwd?: string;
  /** Variables over those the agent is given anyway. */
  env?: Readonly<Record<string, string>>;
  /** Variables from the task: "input", a path such as "input.a.0.b", or a literal text. */
  envMap?: Readonly<Record<string, string>>;
  /** Text given on standard input; default: empty. */
  stdin?: string;
  /** Folder copied for every attempt. */
  workspace?: string;
  /** Which of the controller's variables the agent sees; default: all. */
  inheritEnv?: "all" | "none" | readonly string[];
}

/** Limits of one rollout; 0 turns one off. Times are milliseconds. */
export interface RunLimits {
  /** From the time the controller sees the rollout to its start. */
  queueMs: number;
  /** From an attempt's start to its end; a rollout's own timeout_seconds counts when it is shorter. */
  runMs: number;
  /** Without a call and without output. Waiting for a reply is not silence. */
  silenceMs: number;
  /** Stdout and stderr together. */
  outputBytes: number;
  /** Between asking a process to end and ending it. */
  killGraceMs: number;
}

/** What kind of thing went wrong; decides whether another attempt is made. */
export type FailureClass = "infrastructure" | "agent" | "limit" | "config" | "grader" | "hook" | "cancelled";

/** How many further attempts a failure of each class may have; absent means none. */
export type RetryPolicy = Readonly<Partial<Record<FailureClass, number>>>;

/** What a `prepare` module is given, once before the first rollout. */
export interface PrepareContext {
  /** The agent as it is configured. */
  agent: AgentCommand;
  /** Folder of the configuration file; the command's relative paths start there. */
  folder: string;
  /** Folder for what may be made again. */
  cacheFolder: string;
  /** Tells the person one line. */
  say(line: string): void;
  /** The agent with these scripts of its command bundled into single files, which start much faster. */
  bundle(scripts: readonly string[]): Promise<AgentCommand>;
}

/** What a `prepare` module exports as `prepare`: the agent to run instead. */
export type PrepareAgent = (context: PrepareContext) => AgentCommand | Promise<AgentCommand>;

/** The limits of a controller that was given none. */
export const defaultRunLimits: RunLimits = {
  queueMs: 0,
  runMs: 3_600_000,
  silenceMs: 600_000,
  outputBytes: 16 * 2 ** 20,
  killGraceMs: 2_000,
};

/** The machine's faults are tried again, an agent's own are its result. */
export const defaultRetries: RetryPolicy = { infrastructure: 2 };

const textMap = z.record(z.string(), z.string());

/** Checks the agent's part of a configuration. */
export const agentCommandSchema: z.ZodType<AgentCommand> = z.strictObject({
  command: z.array(z.string()).min(1),
  cwd: z.string().optional(),
  env: textMap.optional(),
  envMap: textMap.optional(),
  stdin: z.string().optional(),
  workspace: z.string().optional(),
  inheritEnv: z.union([z.enum(["all", "none"]), z.array(z.string())]).optional(),
});
