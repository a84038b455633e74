import { asLeydenError, CancelledError, type LeydenError } from "../core/errors.ts";
import { didYouMean } from "../core/nearest.ts";
import { version } from "../core/version.ts";
import type { HostPlatform, Terminal } from "../schema/platform.ts";
import { type Args, parseCommandLine, UsageError } from "./args.ts";
import type { Command, CommandContext, CommandTable } from "./command.ts";
import { commandHelp, overallHelp } from "./help.ts";

/** Prints an error: one line of JSON on standard output with --json, else text on standard error. */
function reportError(terminal: Terminal, error: LeydenError, json: boolean, verbose: boolean): void {
  if (json) {
    terminal.out(`${JSON.stringify({ error })}\n`);
    return;
  }
  terminal.err(`error [${error.code}]: ${error.message}\n`);
  if (error.do !== "") terminal.err(`${error.do}\n`);
  const origin = error.cause instanceof Error ? error.cause : error;
  // An error nobody foresaw is a fault of ours: its place matters more than brevity.
  if (verbose || error.code === "internal") terminal.err(`${origin.stack ?? origin.message}\n`);
}

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;

/**
 * SIGINT and SIGTERM end the program in order, with the agents it started; once a command has asked for the signal, the
 * first one only aborts that. Returns what the context has of it.
 */
function handleStop(terminal: Terminal): Pick<CommandContext, "stopSignal" | "stop"> {
  const exit = (name: "SIGINT" | "SIGTERM") => terminal.exit(128 + signalNumbers[name]);
  let controller: AbortController | undefined;
  terminal.onStop((name) => {
    if (controller === undefined || controller.signal.aborted) exit(name);
    else controller.abort(name);
  });
  const stopSignal = (): AbortSignal => {
    controller ??= new AbortController();
    return controller.signal;
  };
  return {
    stopSignal,
    stop() {
      stopSignal();
      controller?.abort("SIGINT");
    },
  };
}

function contextOf(platform: HostPlatform, args: Args): CommandContext {
  const { terminal } = platform;
  return {
    args,
    platform,
    json: args.flag("json"),
    print: (line) => terminal.out(`${line}\n`),
    printJson: (value) => terminal.out(`${JSON.stringify(value)}\n`),
    note: (line) => terminal.err(`${line}\n`),
    ...handleStop(terminal),
  };
}

async function loadCommand(table: CommandTable, name: string): Promise<Command> {
  const load = Object.hasOwn(table, name) ? table[name] : undefined;
  if (load !== undefined) return (await load()).command;
  throw new UsageError(`There is no command "${name}".`, { do: didYouMean(name, Object.keys(table)) });
}

async function runCommand(platform: HostPlatform, table: CommandTable): Promise<number> {
  const { args: argv, out } = platform.terminal;
  const [first = "--help", ...more] = argv;
  const topic = first === "help" ? more.find((word) => !word.startsWith("-")) : undefined;
  const [name, rest] = topic === undefined ? [first, more] : [topic, ["--help"]];
  if (name === "--help" || name === "-h" || name === "help") {
    const all = await Promise.all(Object.values(table).map(async (load) => (await load()).command));
    out(overallHelp(all));
    return 0;
  }
  if (name === "--version") {
    out(`${version}\n`);
    return 0;
  }
  const command = await loadCommand(table, name);
  const args = parseCommandLine(command, rest);
  if (args.flag("help")) {
    out(commandHelp(command));
    return 0;
  }
  const context = contextOf(platform, args);
  try {
    return await command.run(context);
  } catch (thrown) {
    // What the person asked for is no error; programs still read one.
    if (!(thrown instanceof CancelledError) || context.json || !context.stopSignal().aborted) throw thrown;
    context.note("Stopped.");
    return thrown.exitCode;
  }
}

/** Runs the command that the terminal's arguments name; returns the exit code and never throws. */
export async function runCommandLine(platform: HostPlatform, table: CommandTable): Promise<number> {
  const { terminal, env } = platform;
  const fail = (thrown: unknown): number => {
    const error = asLeydenError(thrown);
    reportError(terminal, error, terminal.args.includes("--json"), env.LEYDEN_DEBUG === "1");
    return error.exitCode;
  };
  terminal.onUncaught((thrown) => terminal.exit(fail(thrown)));
  try {
    return await runCommand(platform, table);
  } catch (thrown) {
    return fail(thrown);
  }
}
