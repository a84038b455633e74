import { type ChildProcess, spawn } from "node:child_process";
import { markVariable } from "./process_marks.ts";

/**
 * Reads "+ PID" and "- PID" of process groups; when the writer is gone it ends the groups that are left, and on Linux
 * whatever carries the host's mark ($1), in whatever session.
 */
const script = `
pids=
while read -r op pid; do
  case $op in
    +) pids="$pids $pid" ;;
    -) kept=; for p in $pids; do [ "$p" = "$pid" ] || kept="$kept $p"; done; pids=$kept ;;
  esac
done
for p in $pids; do kill -9 "-$p" 2>/dev/null; done
[ -d /proc/1 ] || exit 0
for round in 1 2 3; do
  found=$(grep -ls "${markVariable}=$1" /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || exit 0
  for f in $found; do f=\${f%/environ}; kill -9 "\${f#/proc/}" 2>/dev/null; done
done
`;

/**
 * A shell that outlives this program by a moment: a program that is killed outright runs no handler, but its pipes are
 * closed, and the shell at their other end then ends what the program had started. POSIX only.
 */
export class Watchdog {
  private readonly hostMark: string;
  private child: ChildProcess | null = null;

  /** `hostMark` begins the mark of every process that this program starts. */
  constructor(hostMark: string) {
    this.hostMark = hostMark;
  }

  /** A process group to end with this program. */
  add(pid: number): void {
    this.child ??= this.start();
    this.write(`+ ${pid}\n`);
  }

  /** A process group that has been ended. */
  remove(pid: number): void {
    this.write(`- ${pid}\n`);
  }

  private write(line: string): void {
    this.child?.stdin?.write(line);
  }

  private start(): ChildProcess {
    const env = { ...process.env, [markVariable]: undefined };
    // detached: a signal to this program's group is none to the watchdog.
    const child = spawn("/bin/sh", ["-c", script, "leyden-watchdog", this.hostMark], {
      detached: true,
      env,
      stdio: ["pipe", "ignore", "ignore"],
    });
    // Without a shell there is no watchdog, and all else works.
    child.on("error", () => undefined);
    child.stdin?.on("error", () => undefined);
    child.unref();
    (child.stdin as { unref?(): void } | null)?.unref?.();
    return child;
  }
}
