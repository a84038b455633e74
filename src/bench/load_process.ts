import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { EnvironmentError } from "../core/errors.ts";

/** A server in a process of its own that answers lines with lines. */
export class LoadProcess {
  /** Where it serves. */
  url = "";
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly lines: AsyncIterator<string>;
  private readonly ended: Promise<void>;
  private errors = "";

  private constructor(command: readonly [string, ...string[]]) {
    const [program, ...args] = command;
    this.child = spawn(program, args, { stdio: "pipe" });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.errors = (this.errors + text).slice(-2000);
    });
    this.child.stdin.on("error", () => undefined);
    this.ended = new Promise((resolve) => this.child.once("close", () => resolve()));
  }

  /** @throws EnvironmentError "load_failed" with what it said last */
  static async start(command: readonly [string, ...string[]]): Promise<LoadProcess> {
    const started = new LoadProcess(command);
    const { url } = JSON.parse(await started.line()) as { url: string };
    started.url = url;
    return started;
  }

  /** Its answer to a line. */
  async ask<T>(line: string): Promise<T> {
    this.child.stdin.write(`${line}\n`);
    return JSON.parse(await this.line()) as T;
  }

  async close(): Promise<void> {
    this.child.stdin.end("close\n");
    await this.ended;
  }

  private async line(): Promise<string> {
    const { done, value } = await this.lines.next();
    if (!done) return value;
    await this.ended;
    throw new EnvironmentError("load_failed", `The server under load ended: ${this.errors.trim().split("\n").at(-1)}`, {
      do: "Run the suite again; report this if it stays so.",
    });
  }
}
