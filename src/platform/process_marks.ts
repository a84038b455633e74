import { readdirSync, readFileSync } from "node:fs";

/** Environment variable that tells whose descendant a process is, wherever it put itself. */
export const markVariable = "LEYDEN_PROCESS_MARK";

/** A process forks while others are killed: after this many looks what is left is given up. */
const mostRounds = 5;

/** Process ids whose environment holds one of the marks. Linux only: elsewhere nothing tells, and the list is empty. */
export function markedProcesses(marks: ReadonlySet<string>, proc = "/proc"): number[] {
  let names: string[];
  try {
    names = readdirSync(proc);
  } catch {
    return [];
  }
  return names.filter((name) => /^\d+$/.test(name) && marks.has(markOf(`${proc}/${name}/environ`))).map(Number);
}

/** Ends every process with one of the marks: a new session or group does not hide from it. */
export function killMarked(marks: ReadonlySet<string>, kill: (pid: number) => void, proc = "/proc"): void {
  for (let round = 0; round < mostRounds; round++) {
    const found = markedProcesses(marks, proc);
    if (found.length === 0) return;
    for (const pid of found) {
      try {
        kill(pid);
      } catch {
        // It has ended by itself in the meantime.
      }
    }
  }
}

/** The mark of a process, empty when it has none, is gone, or is somebody else's. */
function markOf(environ: string): string {
  try {
    const text = readFileSync(environ, "latin1");
    const at = `\0${text}`.indexOf(`\0${markVariable}=`);
    if (at < 0) return "";
    const from = at + markVariable.length + 1;
    const end = text.indexOf("\0", from);
    return text.slice(from, end < 0 ? undefined : end);
  } catch {
    return "";
  }
}
