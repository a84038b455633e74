import { spawn } from "node:child_process";
import type { KillSignal } from "../schema/process_host.ts";

/** How this system ends a process together with its descendants. */
export type GroupKiller = (pid: number, signal: KillSignal) => void;

/** Sends `signal` to a process id; negative means a group. Throws with code ESRCH when there is none. */
export type SendSignal = (pid: number, signal: KillSignal) => void;

/** Runs a program and waits for nothing. */
export type RunDetached = (command: string, args: readonly string[]) => void;

/** POSIX: the group's id is the pid of its first process, written negative. */
export function posixGroupKiller(send: SendSignal): GroupKiller {
  return (pid, signal) => {
    try {
      send(-pid, signal);
    } catch (thrown) {
      // ESRCH: nobody is left. EPERM: macOS says so when only zombies are.
      const code = (thrown as { code?: unknown } | null)?.code;
      if (code !== "ESRCH" && code !== "EPERM") throw thrown;
    }
  };
}

/** Windows has no groups or signals: taskkill ends the tree (/T) by force (/F). */
export function windowsGroupKiller(run: RunDetached): GroupKiller {
  return (pid) => run("taskkill", ["/pid", String(pid), "/T", "/F"]);
}

/** The killer for the system this program runs on. */
export function systemGroupKiller(platform: NodeJS.Platform): GroupKiller {
  if (platform !== "win32") return posixGroupKiller((pid, signal) => void process.kill(pid, signal));
  return windowsGroupKiller((command, args) => {
    // taskkill ends with 128 when the tree is gone already; there is nothing to do about either outcome.
    spawn(command, args, { stdio: "ignore", windowsHide: true }).on("error", () => undefined);
  });
}
