import { commands } from "../../src/cli/commands.ts";
import { runCommandLine } from "../../src/cli/run.ts";
import { platform } from "../../src/platform/node.ts";
import { fakePlatform } from "./fake_platform.ts";

/** A program that has ended, with what it printed. */
export interface Ran {
  code: number;
  out: string;
  err: string;
  /** Values printed as lines of JSON. */
  json(): unknown[];
}

async function* linesOf(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

/** Runs a command in this process on real files, with a terminal in memory that reads `input`. */
export async function runLeyden(args: readonly string[], input: readonly string[] = []): Promise<Ran> {
  const fake = fakePlatform({ args });
  const terminal = { ...fake.platform.terminal, lines: () => linesOf(input) };
  const code = await runCommandLine({ ...platform, terminal }, commands);
  const out = fake.out();
  const json = (): unknown[] =>
    out
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  return { code, out, err: fake.err(), json };
}
