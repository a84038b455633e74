import { parseArgs } from "node:util";
import { type ErrorDetail, LeydenError } from "../core/errors.ts";
import { didYouMean } from "../core/nearest.ts";
import type { Command, OptionSpec } from "./command.ts";

/** The command line does not say what the command needs; exit code 4. */
export class UsageError extends LeydenError {
  constructor(message: string, detail: ErrorDetail = {}) {
    super("usage", message, detail, 4);
  }
}

/** Options every command takes. */
export const commonOptions: Readonly<Record<"json" | "help", OptionSpec>> = {
  json: { kind: "flag", summary: "Print JSON lines instead of text." },
  help: { kind: "flag", summary: "Print this help." },
};

type Value = string | number | boolean | readonly string[];

/** The options and positionals of one call, checked against the command's description. */
export class Args {
  readonly positionals: readonly string[];
  private readonly values: ReadonlyMap<string, Value>;

  constructor(values: ReadonlyMap<string, Value>, positionals: readonly string[]) {
    this.values = values;
    this.positionals = positionals;
  }

  /** True when the option was given or has a fallback. */
  has(name: string): boolean {
    return this.values.has(name);
  }

  /** Value of a text option, or undefined. */
  text(name: string): string | undefined {
    return this.values.get(name) as string | undefined;
  }

  /** @throws UsageError when the option was not given and has no fallback */
  requireText(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw new UsageError(`--${name} is missing.`, { do: `Pass --${name} VALUE.` });
    return value;
  }

  /** Value of a number or integer option, or undefined. */
  number(name: string): number | undefined {
    return this.values.get(name) as number | undefined;
  }

  /** @throws UsageError when the option was not given and has no fallback */
  requireNumber(name: string): number {
    const value = this.number(name);
    if (value === undefined) throw new UsageError(`--${name} is missing.`, { do: `Pass --${name} N.` });
    return value;
  }

  /** True when the flag was given. */
  flag(name: string): boolean {
    return this.values.get(name) === true;
  }

  /** All values of a list option, in order. */
  list(name: string): readonly string[] {
    return (this.values.get(name) as readonly string[] | undefined) ?? [];
  }
}

function toNumber(name: string, text: string, spec: OptionSpec): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  const isGood = spec.kind === "integer" ? Number.isSafeInteger(value) : Number.isFinite(value);
  if (!isGood) {
    const kind = spec.kind === "integer" ? "a whole number" : "a number";
    throw new UsageError(`--${name} is "${text}", which is not ${kind}.`, {
      do: `Pass --${name} ${spec.value ?? "N"}.`,
    });
  }
  if (spec.min !== undefined && value < spec.min) {
    throw new UsageError(`--${name} is ${value}, below ${spec.min}.`, { do: `Pass ${spec.min} or more.` });
  }
  return value;
}

function toText(name: string, text: string, spec: OptionSpec): string {
  if (spec.choices === undefined || spec.choices.includes(text)) return text;
  throw new UsageError(`--${name} is "${text}".`, { do: didYouMean(text, spec.choices) });
}

type OptionToken = { name: string; rawName: string; value?: string | undefined; inlineValue?: boolean | undefined };

function requireValue(token: OptionToken, spec: OptionSpec): string {
  const isNextOption = token.inlineValue === false && token.value?.startsWith("--") === true;
  if (token.value !== undefined && !isNextOption) return token.value;
  const shown = spec.value ?? "VALUE";
  throw new UsageError(`${token.rawName} needs a value.`, { do: `Pass ${token.rawName} ${shown}.` });
}

function readOption(values: Map<string, Value>, token: OptionToken, spec: OptionSpec): void {
  const { name } = token;
  if (spec.kind === "flag") {
    if (token.value !== undefined) {
      throw new UsageError(`${token.rawName} takes no value, but got "${token.value}".`, {
        do: `Pass ${token.rawName}.`,
      });
    }
    values.set(name, true);
    return;
  }
  const text = requireValue(token, spec);
  if (spec.kind === "list") {
    values.set(name, [...((values.get(name) as readonly string[] | undefined) ?? []), toText(name, text, spec)]);
    return;
  }
  if (values.has(name)) throw new UsageError(`--${name} is given twice.`, { do: "Pass it once." });
  values.set(name, spec.kind === "text" ? toText(name, text, spec) : toNumber(name, text, spec));
}

function checkPositionals(command: Command, positionals: readonly string[]): void {
  const { min, max, usage } = command.positionals ?? { min: 0, max: 0, usage: "" };
  const advice = { do: `Use: leyden ${command.name} ${usage}`.trimEnd() };
  if (positionals.length < min)
    throw new UsageError(`leyden ${command.name} needs ${usage.replace(/\.+$/, "")}.`, advice);
  if (positionals.length > max) {
    throw new UsageError(`"${positionals[max]}" is one argument too many for leyden ${command.name}.`, advice);
  }
}

/**
 * Reads the arguments after a command's name.
 * @throws UsageError for an unknown option, a missing or malformed value, or a wrong number of positionals
 */
export function parseCommandLine(command: Command, argv: readonly string[]): Args {
  const specs: Readonly<Record<string, OptionSpec>> = { ...command.options, ...commonOptions };
  const types = Object.entries(specs).map(([name, { kind }]) => [
    name,
    { type: kind === "flag" ? ("boolean" as const) : ("string" as const), ...(name === "help" ? { short: "h" } : {}) },
  ]);
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(types),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values = new Map<string, Value>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined;
    if (spec === undefined) {
      const advice = didYouMean(
        token.rawName,
        Object.keys(specs).map((name) => `--${name}`),
      );
      throw new UsageError(`leyden ${command.name} has no option ${token.rawName}.`, { do: advice });
    }
    readOption(values, token, spec);
  }
  if (values.get("help") !== true) checkPositionals(command, positionals);
  for (const [name, { fallback }] of Object.entries(specs)) {
    if (fallback !== undefined && !values.has(name)) values.set(name, fallback);
  }
  return new Args(values, positionals);
}
