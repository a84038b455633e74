import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Clock } from "../core/clock.ts";
import { EnvironmentError } from "../core/errors.ts";
import type { Contender, StepTime } from "./contest.ts";
import { parseReady, parseStep, stepLine } from "./peer_protocol.ts";

/** A first step compiles for minutes on a busy machine with a software adapter. */
const answerTimeoutMs = 600_000;

/** How a peer's process is started. */
export interface PeerCommand {
  readonly peer: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly clock: Clock;
}

/** A peer in a process of its own, which waits without using the machine while ours has its turn. */
export class PeerProcess implements Contender {
  /** Name and version, "jax-js 0.1.25" say; empty until `start` has it. */
  library = "";
  private readonly peer: string;
  private readonly clock: Clock;
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly lines: AsyncIterator<string>;
  private readonly ended: Promise<void>;
  private lastError = "";

  private constructor({ peer, command, args, clock }: PeerCommand) {
    this.peer = peer;
    this.clock = clock;
    this.child = spawn(command, args, { stdio: "pipe" });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => {
      this.child.on("close", () => resolve());
      this.child.on("error", ({ message }) => {
        this.lastError = message;
        resolve();
      });
    });
    // Writing to one that has ended: the answer that does not come says it.
    this.child.stdin.on("error", () => undefined);
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.lastError = text.trim().split("\n").at(-1) ?? "";
    });
  }

  /** @throws EnvironmentError "peer_absent" or "peer_failed" */
  static async start(command: PeerCommand): Promise<PeerProcess> {
    const started = new PeerProcess(command);
    try {
      started.library = parseReady(command.peer, await started.answer());
      return started;
    } catch (thrown) {
      await started.close();
      throw thrown;
    }
  }

  /** Undefined when it could not be started. */
  get pid(): number | undefined {
    return this.child.pid;
  }

  async step(count: number): Promise<StepTime> {
    this.child.stdin.write(stepLine(count));
    return parseStep(this.peer, await this.answer());
  }

  async close(): Promise<void> {
    this.child.stdin.end();
    this.child.kill("SIGKILL");
    await this.ended;
  }

  /** Its next line. @throws EnvironmentError "peer_failed" when it ends or is silent for too long */
  private async answer(): Promise<string> {
    const answered = new AbortController();
    const silence = this.clock.sleep(answerTimeoutMs, answered.signal).then(
      () => this.child.kill("SIGKILL"),
      () => undefined,
    );
    const line = await this.lines.next();
    answered.abort();
    await silence;
    if (line.done !== true) return line.value;
    await this.ended;
    throw new EnvironmentError(
      "peer_failed",
      `${this.peer} ended without an answer: ${this.lastError || "no reason"}.`,
    );
  }
}
