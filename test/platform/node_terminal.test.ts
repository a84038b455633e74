// Whoever reads a program's output goes away (`leyden … | head`): a program that only prints ends quietly with 0; one whose
// result is not what it prints goes on to its end without output. On both runtimes, for both streams.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const folder = await mkdtemp(join(tmpdir(), "leyden-terminal-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const module = new URL("../../src/platform/node_terminal.ts", import.meta.url).href;
const deno = new URL("../../node_modules/.bin/deno", import.meta.url).pathname;
const programs = { node: [process.execPath], deno: [deno, "run", "-A", "--no-check"] } as const;

/** Prints, waits until nobody reads any longer (its input has ended), prints again, and leaves a file. */
const script = (goesOn: boolean, stream: "out" | "err", done: string): string => `
const { nodeTerminal: terminal } = await import("${module}");
const { writeFileSync } = await import("node:fs");
${goesOn ? "terminal.outliveReader();" : ""}
terminal.${stream}("first\\n");
for await (const _ of terminal.lines()) {}
for (let i = 0; i < 3; i++) terminal.${stream}("more\\n");
writeFileSync(${JSON.stringify(done)}, "done");
terminal.exit(7);`;

/** Runs the script, stops reading after the first line, and returns how it ended and what it left. */
async function unread(runtime: keyof typeof programs, goesOn: boolean, stream: "out" | "err") {
  const name = join(folder, `${runtime}-${goesOn}-${stream}`);
  await writeFile(`${name}.mjs`, script(goesOn, stream, `${name}.txt`));
  const [command, ...args] = programs[runtime];
  const child = spawn(command, [...args, `${name}.mjs`], { stdio: "pipe" });
  const read = stream === "out" ? child.stdout : child.stderr;
  const ended = once(child, "exit");
  await once(read, "data");
  read.destroy();
  await once(read, "close");
  child.stdin.end();
  const [code] = await ended;
  return { code, left: await readFile(`${name}.txt`, "utf8").catch(() => "") };
}

describe.each(["node", "deno"] as const)("a program on %s that nobody reads", (runtime) => {
  it.each(["out", "err"] as const)("ends quietly when it only prints (%s)", async (stream) => {
    expect(await unread(runtime, false, stream)).toEqual({ code: 0, left: "" });
  });

  it.each(["out", "err"] as const)("goes on to its end when its result is another (%s)", async (stream) => {
    expect(await unread(runtime, true, stream)).toEqual({ code: 7, left: "done" });
  });
});
