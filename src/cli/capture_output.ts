import type { HostPlatform } from "../schema/platform.ts";
import type { ProcessExit } from "../schema/process_host.ts";

/** A program that has ended, with what it printed. */
export interface CapturedOutput {
  exit: ProcessExit;
  /** True when it was killed because it ran too long. */
  timedOut: boolean;
  stdout: string;
  stderr: string;
}

/**
 * Runs a program to its end, or kills it after `timeoutMs`.
 * @throws EnvironmentError "spawn_failed" when there is no such program
 */
export async function captureOutput(
  { files, processes, clock }: Pick<HostPlatform, "files" | "processes" | "clock">,
  command: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<CapturedOutput> {
  const folder = await files.makeTempFolder("leyden_");
  const [stdoutFile, stderrFile] = [files.join(folder, "stdout"), files.join(folder, "stderr")];
  try {
    const child = await processes.spawn(command, args, { stdoutFile, stderrFile });
    const ended = new AbortController();
    let timedOut = false;
    const timer = clock.sleep(timeoutMs, ended.signal).then(
      () => {
        timedOut = true;
        child.kill("SIGKILL");
      },
      () => undefined,
    );
    const exit = await child.exit;
    ended.abort();
    await timer;
    return { exit, timedOut, stdout: await files.readText(stdoutFile), stderr: await files.readText(stderrFile) };
  } finally {
    await files.remove(folder);
  }
}
