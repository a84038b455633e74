import { commonOptions } from "./args.ts";
import type { Command, OptionSpec } from "./command.ts";

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join("\n");
}

function optionLine([name, spec]: [string, OptionSpec]): [string, string] {
  const value = spec.kind === "flag" ? "" : ` ${spec.choices?.join("|") ?? spec.value ?? "VALUE"}`;
  const notes = [
    spec.kind === "list" ? "may be repeated" : "",
    spec.fallback === undefined || spec.fallback === "" ? "" : `default ${spec.fallback}`,
  ].filter((note) => note !== "");
  return [`--${name}${value}`, notes.length === 0 ? spec.summary : `${spec.summary} (${notes.join(", ")})`];
}

/** The help of one command. */
export function commandHelp(command: Command): string {
  const options = Object.entries<OptionSpec>({ ...command.options, ...commonOptions }).map(optionLine);
  const positionals = command.positionals === undefined ? "" : ` ${command.positionals.usage}`;
  return `leyden ${command.name}${positionals} [options]\n\n${command.summary}\n\n${columns(options)}\n`;
}

/** The help of the program. */
export function overallHelp(commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }): [string, string] => [name, summary]);
  return [
    "leyden COMMAND [options]\n",
    "Trains the language model inside a real, unmodified agent, on any WebGPU device.\n",
    columns(rows),
    '\nRun "leyden COMMAND --help" for its options, "leyden --version" for the version.',
    "Exit codes: 0 ok, 1 a check failed, 2 incomplete, 3 environment, 4 bad input.\n",
  ].join("\n");
}
