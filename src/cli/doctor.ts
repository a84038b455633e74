import { EnvironmentError } from "../core/errors.ts";
import type { HostPlatform } from "../schema/platform.ts";
import type { ProbedAdapter, ProbeReport } from "./adapter_probe.ts";
import { captureOutput } from "./capture_output.ts";
import type { Command, CommandContext } from "./command.ts";
import { planDriverSetup, type SetupCommand, type SetupPlan } from "./driver_setup.ts";

const probeTimeoutMs = 60_000;
const versionTimeoutMs = 10_000;
const installTimeoutMs = 900_000;

/** The adapter, or one sentence about why there is none. */
interface Finding {
  adapter: ProbedAdapter | null;
  problem: string | null;
}

async function probeAdapter(platform: HostPlatform): Promise<Finding> {
  const [command, ...args] = platform.scriptCommand(new URL("./adapter_probe.ts", import.meta.url));
  const { exit, timedOut, stdout, stderr } = await captureOutput(platform, command, args, probeTimeoutMs);
  if (timedOut) return { adapter: null, problem: `The adapter did not answer within ${probeTimeoutMs / 1000} s.` };
  const line = stdout.trim().split("\n").at(-1) ?? "";
  if (exit.code !== 0 || !line.startsWith("{")) {
    const how = exit.signal ?? `code ${exit.code}`;
    const last = stderr.trim().split("\n").at(-1) ?? "";
    return { adapter: null, problem: `The driver crashed while computing (${how}).${last === "" ? "" : ` ${last}`}` };
  }
  const { adapter, error } = JSON.parse(line) as ProbeReport;
  if (error !== undefined) return { adapter: null, problem: `${error.message} ${error.do}` };
  if (adapter === null) return { adapter: null, problem: "No WebGPU adapter: there is no Vulkan driver that works." };
  if (!adapter.computes) return { adapter, problem: `The adapter ${adapter.name} computes wrong results.` };
  return { adapter, problem: null };
}

/** Version a program prints with --version, or null when it is not there. */
async function versionOf(platform: HostPlatform, program: string): Promise<string | null> {
  try {
    const { exit, stdout } = await captureOutput(platform, program, ["--version"], versionTimeoutMs);
    return exit.code === 0 ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null) : null;
  } catch (thrown) {
    if (thrown instanceof EnvironmentError && thrown.code === "spawn_failed") return null;
    throw thrown;
  }
}

async function runtimeVersions(platform: HostPlatform): Promise<{ node: string | null; deno: string | null }> {
  const own = platform.system.runtimeVersion;
  if (platform.runtime === "node") return { node: own, deno: await versionOf(platform, "deno") };
  return { node: await versionOf(platform, "node"), deno: own };
}

async function readOr(platform: HostPlatform, path: string, otherwise: string): Promise<string> {
  return (await platform.files.exists(path)) ? platform.files.readText(path) : otherwise;
}

async function setupPlan(platform: HostPlatform): Promise<SetupPlan> {
  const { files, system } = platform;
  const folder = "/etc/apt/sources.list.d";
  const entries = (await files.exists(folder)) ? await files.list(folder) : [];
  const lists = entries.map(({ name }) => name).filter((name) => /\.(list|sources)$/.test(name));
  const paths = ["/etc/apt/sources.list", ...lists.map((name) => `${folder}/${name}`)];
  return planDriverSetup({
    os: system.os,
    isRoot: system.isRoot,
    osRelease: await readOr(platform, "/etc/os-release", ""),
    aptSources: await Promise.all(paths.map((path) => readOr(platform, path, ""))),
  });
}

/** Runs the commands in order, each printed first; what was added is taken back when one fails. */
async function install(context: CommandContext, commands: readonly SetupCommand[]): Promise<void> {
  const added: string[] = [];
  for (const { command, args, text, adds } of commands) {
    context.note(`$ ${text}`);
    if (adds !== undefined) added.push(adds);
    const { exit, timedOut, stdout, stderr } = await captureOutput(context.platform, command, args, installTimeoutMs);
    if (exit.code === 0) continue;
    for (const path of added) await context.platform.files.remove(path);
    const tail = `${stdout}\n${stderr}`.trim().split("\n").slice(-12).join("\n");
    const how = timedOut
      ? `did not end within ${installTimeoutMs / 60_000} minutes`
      : `ended with ${exit.signal ?? exit.code}`;
    throw new EnvironmentError("setup_failed", `"${text}" ${how}:\n${tail}`, {
      do: "Put right what it says and run leyden doctor --fix again, or install a Vulkan driver by hand.",
      data: { text },
    });
  }
}

/** Explains a missing adapter; installs one where asked and allowed. */
async function treat(context: CommandContext, problem: string): Promise<{ installed: boolean; fix: string[] }> {
  const { platform, args, note } = context;
  const plan = await setupPlan(platform);
  const texts = plan.commands.map(({ text }) => text);
  note(problem);
  if (args.flag("fix") && plan.canRun && platform.env.LEYDEN_NO_INSTALL !== "1") {
    await install(context, plan.commands);
    return { installed: true, fix: [] };
  }
  if (args.flag("fix") && plan.canRun) note("LEYDEN_NO_INSTALL=1 is set, so nothing was installed.");
  if (plan.advice !== "") note(plan.advice);
  if (!context.json) for (const text of texts) note(`  ${text}`);
  return { installed: false, fix: texts };
}

async function run(context: CommandContext): Promise<number> {
  const { platform } = context;
  const [first, { node, deno }] = await Promise.all([probeAdapter(platform), runtimeVersions(platform)]);
  let finding = first;
  let fix: string[] = [];
  if (finding.problem !== null) {
    const treated = await treat(context, finding.problem);
    fix = treated.fix;
    if (treated.installed) {
      finding = await probeAdapter(platform);
      if (finding.problem !== null) context.note(`The driver was installed, but: ${finding.problem}`);
    }
  }
  const ok = finding.problem === null;
  const { name, class: deviceClass = null, features = [], limits = {}, computes, ...info } = finding.adapter ?? {};
  if (context.json) {
    const adapter = finding.adapter === null ? null : { name, ...info };
    context.printJson({ ok, adapter, class: deviceClass, features, limits, node, deno, fix });
  } else if (ok) {
    context.print(`ok: ${name} (${deviceClass}), Node ${node ?? "absent"}, Deno ${deno ?? "absent"}`);
  }
  return ok ? 0 : 3;
}

/** Reports the machine's WebGPU adapter, and installs a software driver where there is none. */
export const command: Command = {
  name: "doctor",
  summary: "Report the WebGPU adapter; with --fix install a software Vulkan driver where there is none.",
  options: {
    fix: { kind: "flag", summary: "Install what is missing (as root on Debian or Ubuntu), else print the commands." },
  },
  run,
};
