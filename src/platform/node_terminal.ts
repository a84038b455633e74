import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Terminal } from "../schema/platform.ts";

/** True once a closed stream is no end: what is written to it is dropped. */
let outlives = false;

/** Bytes written in full, without the event loop: nothing is lost when the process exits right after. */
function writeAll(descriptor: 1 | 2, text: string): void {
  const bytes = new TextEncoder().encode(text);
  let done = 0;
  while (done < bytes.length) {
    try {
      done += writeSync(descriptor, bytes, done);
    } catch (thrown) {
      const code = (thrown as { code?: unknown } | null)?.code;
      if (code === "EPIPE") {
        // The reader has gone (`leyden … | head`): there is nobody to write for.
        if (outlives) return;
        process.exit(0);
      }
      if (code !== "EAGAIN") throw thrown;
      // A full pipe that does not block: wait a millisecond for its reader.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/** The process' own streams, in Node and in Deno. */
export const nodeTerminal: Terminal = {
  args: process.argv.slice(2),
  isScreen: process.stdout.isTTY === true,
  get columns() {
    return process.stdout.columns ?? 80;
  },
  out: (text) => writeAll(1, text),
  err: (text) => writeAll(2, text),
  outliveReader() {
    outlives = true;
  },
  lines: () => createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY }),
  onStop(stop) {
    const signals = ["SIGINT", "SIGTERM"] as const;
    const handlers = signals.map((signal) => [signal, () => stop(signal)] as const);
    for (const [signal, handler] of handlers) process.on(signal, handler);
    return () => {
      for (const [signal, handler] of handlers) process.off(signal, handler);
    };
  },
  onUncaught(fail) {
    process.on("uncaughtException", fail);
    process.on("unhandledRejection", fail);
  },
  exit: (code) => process.exit(code),
};
