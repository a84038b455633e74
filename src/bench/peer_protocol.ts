import { z } from "zod";
import { EnvironmentError } from "../core/errors.ts";
import type { StepTime } from "./contest.ts";

// The lines of test/bench/peers/serve.mjs, which says what they mean.

const ready: z.ZodType<{ library: string } | { absent: string }> = z.union([
  z.object({ library: z.string() }),
  z.object({ absent: z.string() }),
]);

const stepped: z.ZodType<{ ms: number; cpu_ms: number; value: number }> = z.object({
  ms: z.number().positive(),
  cpu_ms: z.number().nonnegative(),
  value: z.number(),
});

/** The line that asks a peer for `count` steps. */
export function stepLine(count: number): string {
  return `step ${count}\n`;
}

/** The library's name and version. @throws EnvironmentError "peer_absent" with the peer's reason, "peer_failed" */
export function parseReady(peer: string, line: string): string {
  const said = parseLine(peer, line, ready);
  if ("library" in said) return said.library;
  throw new EnvironmentError("peer_absent", `${peer} is not here: ${said.absent}`);
}

/** @throws EnvironmentError "peer_failed" for anything but a step's time, as when its result is not a number */
export function parseStep(peer: string, line: string): StepTime {
  const { ms, cpu_ms: cpuMs, value } = parseLine(peer, line, stepped);
  return { ms, cpuMs, value };
}

function parseLine<T>(peer: string, line: string, schema: z.ZodType<T>): T {
  try {
    return schema.parse(JSON.parse(line));
  } catch (cause) {
    throw new EnvironmentError("peer_failed", `${peer} answered ${JSON.stringify(line.slice(0, 200))}.`, { cause });
  }
}
