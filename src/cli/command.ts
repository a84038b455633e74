import type { HostPlatform } from "../schema/platform.ts";
import type { Args } from "./args.ts";

/** One option of a command, `--name VALUE` or `--name`. */
export interface OptionSpec {
  /** `list` may be given several times; `flag` takes no value. */
  kind: "text" | "number" | "integer" | "list" | "flag";
  /** Name of the value in the help: DIR, N, TEXT. */
  value?: string;
  /** One line: what it does, with units. */
  summary: string;
  /** The value when it is not given. */
  fallback?: string | number;
  /** The only texts allowed. */
  choices?: readonly string[];
  /** Smallest number allowed. */
  min?: number;
}

/** What follows a command's name besides options. */
export interface PositionalSpec {
  /** As the help shows them: "CONFIG", "PATH...". */
  usage: string;
  min: number;
  max: number;
}

/** What a running command may use. */
export interface CommandContext {
  args: Args;
  platform: HostPlatform;
  /** True with --json: standard output holds JSON lines only. */
  json: boolean;
  /** One line for people on standard output. */
  print(line: string): void;
  /** One value as a line of JSON on standard output. */
  printJson(value: unknown): void;
  /** One line about progress on standard error. */
  note(line: string): void;
  /**
   * Aborts at the first SIGINT or SIGTERM, whose name is the reason; the second one ends the program. A command that
   * never calls this is ended by the first.
   */
  stopSignal(): AbortSignal;
  /** Stops the command as the first SIGINT does: what a page's Stop is. */
  stop(): void;
}

/** A command of the program: one file in this folder exports one as `command`. */
export interface Command {
  name: string;
  /** One line for the overall help. */
  summary: string;
  positionals?: PositionalSpec;
  options: Readonly<Record<string, OptionSpec>>;
  /** Returns the exit code: 0 ok, 1 a check failed, 2 incomplete, 3 environment, 4 bad input. */
  run(context: CommandContext): Promise<number>;
}

/** Loads a command's file when it is wanted. */
export type CommandTable = Readonly<Record<string, () => Promise<{ command: Command }>>>;
