import { fileURLToPath } from "node:url";
import { suites } from "../bench/registry.ts";
import {
  type BenchContext,
  type FactValue,
  type Measurement,
  type SampleSummary,
  type Suite,
  summarizeSamples,
} from "../bench/suite.ts";
import { EnvironmentError } from "../core/errors.ts";
import { didYouMean } from "../core/nearest.ts";
import { readTuning } from "../engine/tuning_file.ts";
import { type Device, openDevice } from "../gpu/device.ts";
import { deviceOptions } from "../gpu/device_options.ts";
import type { HostPlatform } from "../schema/platform.ts";
import { UsageError } from "./args.ts";
import { captureOutput } from "./capture_output.ts";
import type { Command, CommandContext } from "./command.ts";

const choosable = suites.flatMap(({ name, choices = [] }) => (choices.length === 0 ? [] : [name])).join(", ");

/** `leyden bench`: times on this machine's adapter. */
export const command: Command = {
  name: "bench",
  summary: `Measures this machine's adapter; suites: ${suites.map(({ name }) => name).join(", ")}.`,
  positionals: { usage: "SUITE...", min: 1, max: suites.length },
  options: {
    repeats: { kind: "integer", value: "N", summary: "Samples of each measurement.", fallback: 7, min: 1 },
    seconds: { kind: "integer", value: "N", summary: "How long the suite load runs.", fallback: 60, min: 3 },
    only: { kind: "list", value: "NAME", summary: `Part to measure of a suite that has choices: ${choosable}.` },
    state: {
      kind: "text",
      value: "FOLDER",
      summary: "Where the suite async, and digits of examples, keep what is done; the same folder goes on.",
    },
    profile: { kind: "flag", summary: "Measure each kernel of the suite step on its own, too." },
    tune: { kind: "flag", summary: "Let the suite matmul choose kernels for this adapter, and keep them." },
    record: { kind: "flag", summary: "Append the results to test/bench/results.jsonl of the clone." },
  },
  run: bench,
};

const root = fileURLToPath(new URL("../..", import.meta.url));
const gitTimeoutMs = 10_000;

/** One line of the results. Times are milliseconds. */
interface BenchLine extends SampleSummary {
  readonly name: string;
  readonly adapter: string;
  /** Short hash, with "+" when files were changed since; null outside a repository. */
  readonly commit: string | null;
  readonly date: string;
  readonly [fact: string]: FactValue;
}

async function bench(context: CommandContext): Promise<number> {
  const { args, platform } = context;
  const chosen = args.positionals.map(suiteOf);
  const only = onlyOf(args.list("only"), chosen);
  const results = args.flag("record") ? await resultsFile(platform) : null;
  const commit = await currentCommit(platform);
  // What was chosen before must not choose again.
  const tuning = args.flag("tune") ? {} : { tuning: await readTuning(platform.files, platform.cacheFolder) };
  for (const suite of chosen) {
    if (!context.json) context.print(`${suite.name}: ${suite.summary}`);
    let adapter = "";
    const benchContext: BenchContext = {
      clock: platform.clock,
      repeats: args.requireNumber("repeats"),
      seconds: args.requireNumber("seconds"),
      only,
      profile: args.flag("profile"),
      tune: args.flag("tune"),
      platform,
      state: args.text("state") ?? null,
      note: (line) => context.note(line),
      async openDevice(): Promise<Device> {
        const device = await openDevice(await platform.gpu(), { ...deviceOptions(platform.env), ...tuning });
        adapter = device.caps.adapter;
        return device;
      },
    };
    for await (const measurement of suite.run(benchContext)) {
      const line = lineOf(platform, measurement, adapter, commit);
      if (context.json) context.printJson(line);
      else context.print(textOf(line, measurement));
      if (results !== null) await platform.files.append(results, `${JSON.stringify(line)}\n`);
    }
  }
  return 0;
}

/** @throws UsageError naming the nearest suite */
function suiteOf(name: string): Suite {
  const suite = suites.find((known) => known.name === name);
  if (suite !== undefined) return suite;
  const known = suites.map((s) => s.name);
  throw new UsageError(`There is no suite "${name}".`, { do: didYouMean(name, known) });
}

/** @throws UsageError for a name that none of the chosen suites knows */
function onlyOf(names: readonly string[], chosen: readonly Suite[]): readonly string[] {
  const known = chosen.flatMap(({ choices = [] }) => choices);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  throw new UsageError(`None of these suites has a choice "${unknown}".`, {
    do:
      known.length === 0
        ? `Leave --only out, or name a suite that has choices: ${choosable}.`
        : didYouMean(unknown, known),
  });
}

/** @throws EnvironmentError "no_clone" where there is no test folder, as beside an installed package */
async function resultsFile({ files }: HostPlatform): Promise<string> {
  const folder = files.join(root, "test", "bench");
  if (await files.exists(folder)) return files.join(folder, "results.jsonl");
  throw new EnvironmentError("no_clone", `There is no ${folder} to record results in.`, {
    do: "Run it in a clone of the repository, or leave out --record and keep what --json prints.",
  });
}

async function currentCommit(platform: HostPlatform): Promise<string | null> {
  const git = (...args: string[]) => captureOutput(platform, "git", ["-C", root, ...args], gitTimeoutMs);
  try {
    const head = await git("rev-parse", "--short=10", "HEAD");
    if (head.exit.code !== 0) return null;
    const changed = await git("status", "--porcelain", "--untracked-files=no");
    return `${head.stdout.trim()}${changed.stdout === "" ? "" : "+"}`;
  } catch (thrown) {
    if (thrown instanceof EnvironmentError && thrown.code === "spawn_failed") return null;
    throw thrown;
  }
}

function lineOf({ clock }: HostPlatform, m: Measurement, adapter: string, commit: string | null): BenchLine {
  const date = new Date(clock.now()).toISOString();
  // A suite whose runs open devices of their own names the adapter among its facts.
  const known = { adapter: adapter || String(m.facts.adapter ?? ""), commit, date };
  return { name: m.name, unit: "ms", ...summarizeSamples(m.samples), ...m.facts, ...known };
}

function textOf({ name, median, min, max, n }: BenchLine, { facts }: Measurement): string {
  const known = Object.entries(facts).map(([key, value]) => `${key} ${factText(value)}`);
  return `  ${name.padEnd(16)} ${shown(median)} ms (${shown(min)} to ${shown(max)}, n ${n})  ${known.join(", ")}`.trimEnd();
}

function factText(value: FactValue): string {
  if (typeof value === "number") return shown(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

/** Four significant digits. */
function shown(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}
