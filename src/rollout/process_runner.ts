import type { Clock } from "../core/clock.ts";
import { asLeydenError, type LeydenError } from "../core/errors.ts";
import type { AgentCommand, RunLimits } from "../schema/agent.ts";
import type { Files } from "../schema/files.ts";
import type { ProcessExit, ProcessHandle, ProcessHost, SpawnOptions } from "../schema/process_host.ts";
import type { AgentAccess } from "../schema/rollout_client.ts";
import type { Rollout } from "../schema/wire.ts";
import { accessEnvironment } from "./agent_access.ts";
import { resolveEnvMap } from "./env_map.ts";
import type { AttemptEnd, StopReason } from "./failure.ts";
import { fillPlaceholders, mentions, type PlaceholderValues } from "./placeholders.ts";

/** One attempt to run. */
export interface AttemptSpec {
  rollout: Rollout;
  attemptId: string;
  /** Folder for its logs, its input and its workspace; exists. */
  folder: string;
  access: AgentAccess;
  agent: AgentCommand;
  limits: RunLimits;
}

/** How a controller and a running attempt talk. */
export interface AttemptWatch {
  /** Ends the attempt; the reason is "cancelled" or "shutdown". */
  signal: AbortSignal;
  /** The agent's process exists. */
  onStarted(): void;
  /** A number that grows with each call and event of the attempt; -1 while a call waits for its reply. */
  activity(): Promise<number>;
}

/** Runs attempts: as local processes here; elsewhere perhaps as functions or remote jobs. */
export interface AttemptRunner {
  /** Never rejects; what went wrong is in the end. */
  run(spec: AttemptSpec, watch: AttemptWatch): Promise<AttemptEnd>;
}

/** Settings of a runner of local processes. */
export interface ProcessRunnerDeps {
  processes: ProcessHost;
  files: Files;
  clock: Clock;
  /** Put in front of every command line, such as ["nice", "-n", "10"], so that agents yield to the device. */
  launcher?: readonly string[];
}

/** How long a killed process may take to be gone, in milliseconds. */
const killWaitMs = 5_000;
/** The activity of an attempt is looked at this often within its limit of silence. */
const looksPerSilence = 8;

interface Launch {
  command: string;
  args: readonly string[];
  options: SpawnOptions & { stdoutFile: string; stderrFile: string };
  workspace: string | null;
}

/** Starts each attempt as a process in its own group, with its own logs. */
export class ProcessRunner implements AttemptRunner {
  private readonly deps: ProcessRunnerDeps;

  constructor(deps: ProcessRunnerDeps) {
    this.deps = deps;
  }

  async run(spec: AttemptSpec, watch: AttemptWatch): Promise<AttemptEnd> {
    const startedAt = this.deps.clock.now() / 1000;
    const end = (exit: ProcessExit | null, stopped: StopReason | null, startError: LeydenError | null = null) => {
      return { exit, stopped, startError, workspace, startedAt, endedAt: this.deps.clock.now() / 1000 };
    };
    let workspace: string | null = null;
    let handle: ProcessHandle;
    let launch: Launch;
    try {
      launch = await this.prepare(spec);
      workspace = launch.workspace;
      if (watch.signal.aborted) return end(null, watch.signal.reason as StopReason);
      handle = await this.deps.processes.spawn(launch.command, launch.args, launch.options);
    } catch (thrown) {
      return end(null, null, asLeydenError(thrown));
    }
    watch.onStarted();
    const stopped = await this.firstStop(handle, spec.limits, watch, launch);
    const exit = stopped === null ? await handle.exit : await this.stop(handle, spec.limits.killGraceMs);
    // Children the agent left behind must not outlive it.
    handle.kill("SIGKILL");
    return end(exit, stopped);
  }

  private async prepare({ rollout, attemptId, folder, access, agent, limits }: AttemptSpec): Promise<Launch> {
    const { files, launcher = [] } = this.deps;
    const workspace = agent.workspace === undefined ? null : files.join(folder, "workspace");
    const values: PlaceholderValues = {
      input: rollout.input,
      input_file: files.join(folder, "input.json"),
      workspace: workspace ?? folder,
      rollout_id: rollout.rollout_id,
      attempt_id: attemptId,
      base_url: access.openaiBaseUrl,
      event_url: access.eventUrl,
      key: access.key,
    };
    const fill = (text: string) => fillPlaceholders(text, values);
    const [command, ...args] = [...launcher, ...agent.command.map(fill)] as [string, ...string[]];
    const env = {
      ...accessEnvironment(access),
      ...Object.fromEntries(Object.entries(agent.env ?? {}).map(([name, text]) => [name, fill(text)])),
      ...resolveEnvMap(rollout.input, { ...agent.envMap, ...rollout.config.local?.env_map }),
    };
    const stdin = agent.stdin === undefined ? undefined : fill(agent.stdin);
    const texts = [...agent.command, ...Object.values(agent.env ?? {}), agent.stdin ?? ""];
    if (texts.some((text) => mentions(text, "input_file"))) {
      await files.write(values.input_file, JSON.stringify(rollout.input));
    }
    if (workspace !== null) await files.copy(agent.workspace as string, workspace);
    const options = {
      cwd: agent.cwd ?? workspace ?? undefined,
      env,
      stdin,
      inheritEnv: agent.inheritEnv,
      stdoutFile: files.join(folder, "stdout.log"),
      stderrFile: files.join(folder, "stderr.log"),
      outputLimitBytes: limits.outputBytes > 0 ? limits.outputBytes : Number.MAX_SAFE_INTEGER,
    };
    return { command, args, options, workspace };
  }

  /** Why the attempt must be ended; null when its process ended first. */
  private async firstStop(
    handle: ProcessHandle,
    limits: RunLimits,
    { signal, activity }: AttemptWatch,
    launch: Launch,
  ): Promise<StopReason | null> {
    const { clock } = this.deps;
    const done = new AbortController();
    const ends: Promise<StopReason | null>[] = [handle.exit.then(() => null), aborted(signal, done.signal)];
    if (limits.runMs > 0) ends.push(clock.sleep(limits.runMs, done.signal).then(() => "run_timeout" as const));
    if (limits.silenceMs > 0)
      ends.push(this.silence(limits.silenceMs, done.signal, () => this.signs(launch, activity)));
    try {
      return await Promise.race(ends);
    } finally {
      done.abort();
    }
  }

  /** Everything that shows an agent is alive, as one text; null while it waits for its model. */
  private async signs({ options }: Launch, activity: () => Promise<number>): Promise<string | null> {
    const calls = await activity();
    if (calls < 0) return null;
    const size = (path: string) => this.deps.files.size(path).catch(() => 0);
    return [calls, await size(options.stdoutFile), await size(options.stderrFile)].join(" ");
  }

  private async silence(ms: number, signal: AbortSignal, signs: () => Promise<string | null>): Promise<"silence"> {
    const { clock } = this.deps;
    let last = await signs();
    let since = clock.monotonic();
    while (clock.monotonic() - since < ms) {
      await clock.sleep(Math.ceil(ms / looksPerSilence), signal);
      const now = await signs();
      if (now !== null && now === last) continue;
      last = now;
      since = clock.monotonic();
    }
    return "silence";
  }

  private async stop(handle: ProcessHandle, graceMs: number): Promise<ProcessExit | null> {
    handle.kill("SIGTERM");
    const exit = await this.within(handle, graceMs);
    if (exit !== null) return exit;
    handle.kill("SIGKILL");
    return this.within(handle, killWaitMs);
  }

  private async within(handle: ProcessHandle, ms: number): Promise<ProcessExit | null> {
    const done = new AbortController();
    try {
      return await Promise.race([handle.exit, this.deps.clock.sleep(ms, done.signal).then(() => null)]);
    } finally {
      done.abort();
    }
  }
}

/** Resolves with the signal's reason when it fires; never when `done` fires first. */
function aborted(signal: AbortSignal, done: AbortSignal): Promise<StopReason> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason as StopReason);
    signal.addEventListener("abort", () => resolve(signal.reason as StopReason), { once: true, signal: done });
  });
}
