import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));

/** A command of the program at work, as a person has it in a terminal. */
export interface LeydenProcess {
  /** The studio's address, with its key, once the command has said it. */
  readonly studio: Promise<URL>;
  /** Its exit code and everything that it has said, once it has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly said: string }>;
  /** Ends it if it is still at work. */
  kill(): Promise<void>;
}

/** Starts a command. */
export function startLeyden(...args: string[]): LeydenProcess {
  const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const studio = Promise.withResolvers<URL>();
  let said = "";
  const hear = (part: Buffer): void => {
    said += part.toString();
    const address = /^Studio: (\S+)\n/m.exec(said)?.[1];
    if (address !== undefined) studio.resolve(new URL(address));
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  const ended = new Promise<{ code: number | null; said: string }>((resolve) => {
    child.on("close", (code) => {
      studio.reject(new Error(`The command ended without a studio: ${said}`));
      resolve({ code, said });
    });
  });
  studio.promise.catch(() => {});
  return {
    studio: studio.promise,
    ended,
    async kill() {
      child.kill();
      await ended;
    },
  };
}
