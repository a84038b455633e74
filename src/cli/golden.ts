import { EnvironmentError } from "../core/errors.ts";
import { type Device, openDevice } from "../gpu/device.ts";
import { deviceOptions } from "../gpu/device_options.ts";
import type { HostPlatform } from "../schema/platform.ts";
import { captureOutput } from "./capture_output.ts";
import type { Command, CommandContext } from "./command.ts";
import { runGoldenInChromium } from "./golden_chromium.ts";
import { type GoldenDevice, type GoldenReport, goldenDevice } from "./golden_device.ts";
import { runGoldenItem } from "./golden_items.ts";
import { findGoldenItems, type GoldenItem } from "./golden_paths.ts";
import type { GoldenRow } from "./golden_rl/golden_file.ts";

const otherRuntimeTimeoutMs = 1_800_000;

/** Counts of a report. */
interface Summary {
  passed: number;
  failed: number;
  unchecked: number;
}

/** `leyden golden`: checks this build's numbers against stored references. */
export const command: Command = {
  name: "golden",
  summary: "Checks models, losses and merges against stored references.",
  positionals: { usage: "PATH...", min: 1, max: 1000 },
  options: {
    runtime: { kind: "text", summary: "Where the checks run; default: here.", choices: ["node", "deno", "chromium"] },
  },
  run: runGoldenCommand,
};

async function runGoldenCommand(context: CommandContext): Promise<number> {
  const { args, platform } = context;
  const items: GoldenItem[] = [];
  for (const path of args.positionals) items.push(...(await findGoldenItems(platform.files, path)));
  const summary: Summary = { passed: 0, failed: 0, unchecked: 0 };
  const report = (rows: readonly GoldenRow[]): void => {
    for (const row of rows) {
      summary[row.pass === null ? "unchecked" : row.pass ? "passed" : "failed"]++;
      printRow(context, row);
    }
  };
  const runtime = args.text("runtime") ?? platform.runtime;
  const device = await runIn(runtime, platform, items, report);
  if (context.json) context.printJson({ summary: true, ...summary, device });
  else printSummary(context, summary, device);
  if (summary.failed > 0) return 1;
  return summary.unchecked > 0 ? 2 : 0;
}

/** Runs the items in a runtime; the device that their models ran on, if there were any. */
async function runIn(
  runtime: string,
  platform: HostPlatform,
  items: readonly GoldenItem[],
  report: (rows: readonly GoldenRow[]) => void,
): Promise<GoldenDevice | null> {
  if (runtime === platform.runtime) return runHere(platform, items, report);
  const { rows, device } =
    runtime === "chromium"
      ? await runGoldenInChromium(platform, items)
      : await runInOtherRuntime(platform, runtime as "node" | "deno", items);
  report(rows);
  return device;
}

async function runHere(
  platform: HostPlatform,
  items: readonly GoldenItem[],
  report: (rows: readonly GoldenRow[]) => void,
): Promise<GoldenDevice | null> {
  let opened: Promise<Device> | undefined;
  const device = (): Promise<Device> => {
    opened ??= platform.gpu().then((gpu) => openDevice(gpu, deviceOptions(platform.env)));
    return opened;
  };
  for (const item of items) report(await runGoldenItem({ files: platform.files, clock: platform.clock, device }, item));
  const used = await opened;
  used?.close();
  return used === undefined ? null : goldenDevice(used);
}

/** The same command in another runtime, its rows read from what it prints. */
async function runInOtherRuntime(
  platform: HostPlatform,
  runtime: "node" | "deno",
  items: readonly GoldenItem[],
): Promise<GoldenReport> {
  const main = decodeURIComponent(new URL("./main.ts", import.meta.url).pathname);
  const script = ["golden", ...items.map((item) => item.path), "--json"];
  const args = runtime === "deno" ? ["run", "-A", main, ...script] : [main, ...script];
  const program = await findProgram(platform, runtime);
  const { exit, timedOut, stdout, stderr } = await captureOutput(platform, program, args, otherRuntimeTimeoutMs);
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
  const last = JSON.parse(lines.at(-1) ?? "{}") as Record<string, unknown>;
  if (timedOut || last.summary !== true) {
    const error = last.error as { message?: string } | undefined;
    const reason = error?.message ?? stderr.trim().split("\n").at(-1) ?? `code ${exit.code}`;
    throw new EnvironmentError("golden_runtime", `The checks did not finish in ${runtime}: ${reason}`, {
      do: `Run: ${program} ${args.join(" ")}`,
    });
  }
  const printed = lines.slice(0, -1).map((line) => JSON.parse(line) as Omit<GoldenRow, "worst"> & { worst: unknown });
  const rows = printed.map((row) => ({ ...row, worst: fromJsonNumber(row.worst) }));
  return { rows, device: last.device as GoldenDevice | null };
}

/** The program in this clone's packages, else the one in PATH. */
async function findProgram({ files }: HostPlatform, name: string): Promise<string> {
  const own = decodeURIComponent(new URL(`../../node_modules/.bin/${name}`, import.meta.url).pathname);
  return (await files.exists(own)) ? own : name;
}

/** JSON has no infinity: it is written as the goldens write it. */
function toJsonNumber(value: number): number | string {
  return Number.isFinite(value) ? value : "inf";
}

function fromJsonNumber(value: unknown): number {
  return typeof value === "number" ? value : Number.POSITIVE_INFINITY;
}

function printSummary(
  context: CommandContext,
  { passed, failed, unchecked }: Summary,
  device: GoldenDevice | null,
): void {
  if (device !== null) {
    const features = device.features.length === 0 ? "none of the optional features" : device.features.join(", ");
    context.print(`models on ${device.adapter}, with ${features}`);
  }
  context.print(`${passed} passed, ${failed} failed, ${unchecked} unchecked`);
}

function printRow(context: CommandContext, row: GoldenRow): void {
  if (context.json) {
    context.printJson({ ...row, worst: toJsonNumber(row.worst) });
    return;
  }
  const state = row.pass === null ? "not run" : row.pass ? "pass" : "FAIL";
  const numbers =
    row.pass === null ? "" : ` ${row.cases} cases, worst ${row.worst.toExponential(1)} of ${row.tolerance}`;
  const note = row.note === "" ? "" : ` (${row.note})`;
  context.print(`${state.padEnd(8)}${row.file} ${row.check}${numbers}${note}`);
}
