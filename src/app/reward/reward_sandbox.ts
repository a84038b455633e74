import quickjs from "@jitl/quickjs-singlefile-browser-release-sync";
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
} from "quickjs-emscripten-core";
import { isReward, largestReward } from "../../schema/reward.ts";

/** What became of a reward function, or of one call of it. */
export type RewardAnswer = { readonly value: number } | { readonly fault: string };

/** How long a reward function may take, in milliseconds. */
export const rewardMs = 2_000;

/** Far beyond what judging one rollout needs. */
const memoryBytes = 64 * 2 ** 20;
const stackBytes = 256 * 2 ** 10;

/** Of a function that cannot be called. */
const unusable = (reason: string): RewardAnswer => ({ fault: `the reward function cannot be used: ${reason}.` });

/**
 * Runs reward functions that somebody wrote, a text at a time. They are interpreted by an engine of their own inside
 * WebAssembly, which has the language and nothing else: no files, no network, no timers, no variables of this program,
 * on every runtime the same. Each call has a fresh copy, so that a reward depends on its rollout alone.
 */
export class RewardSandbox {
  private readonly runtime: QuickJSRuntime;
  private readonly monotonic: () => number;
  private endsMs = 0;

  private constructor(runtime: QuickJSRuntime, monotonic: () => number) {
    this.runtime = runtime;
    this.monotonic = monotonic;
    runtime.setMemoryLimit(memoryBytes);
    runtime.setMaxStackSize(stackBytes);
    runtime.setInterruptHandler(() => monotonic() > this.endsMs);
  }

  /** Loads the interpreter; `monotonic` tells milliseconds. */
  static async open(monotonic: () => number): Promise<RewardSandbox> {
    const module = await newQuickJSWASMModuleFromVariant(quickjs);
    return new RewardSandbox(module.newRuntime(), monotonic);
  }

  /** Reads a text, an expression whose value is a function; 1 when it is one. */
  read(source: string): RewardAnswer {
    return this.withFunction(source, () => ({ value: 1 }));
  }

  /** Calls the function of a text with a value that came as JSON. */
  judge(source: string, input: string): RewardAnswer {
    return this.withFunction(source, (context, reward) => {
      const given = context.unwrapResult(context.evalCode(`(${JSON.stringify(input)})`));
      const parsed = given.consume((text) => parse(context, text));
      const called = parsed.consume((argument) => context.callFunction(reward, context.undefined, argument));
      if (called.error !== undefined) return called.error.consume((thrown) => this.threw(context, thrown));
      return called.value.consume((returned) => this.settled(context, returned));
    });
  }

  private withFunction(
    source: string,
    use: (context: QuickJSContext, reward: QuickJSHandle) => RewardAnswer,
  ): RewardAnswer {
    const context = this.runtime.newContext();
    this.endsMs = this.monotonic() + rewardMs;
    try {
      const read = context.evalCode(`(${source}\n)`, "reward.js");
      if (read.error !== undefined) {
        return read.error.consume((thrown) => this.late() ?? unusable(said(context, thrown)));
      }
      return read.value.consume((reward) =>
        context.typeof(reward) === "function" ? use(context, reward) : unusable("it is no function"),
      );
    } finally {
      context.dispose();
    }
  }

  /** What a call returned, awaited where it is a promise. */
  private settled(context: QuickJSContext, returned: QuickJSHandle): RewardAnswer {
    const state = this.awaited(context, returned);
    if (state.type === "pending") {
      return this.late() ?? { fault: "the reward function waits for something that never comes." };
    }
    if (state.type === "rejected") return state.error.consume((thrown) => this.threw(context, thrown));
    // Of what is no promise the state holds the value itself, which is not to be disposed twice.
    const answer = asNumber(context, state.value);
    if (state.notAPromise !== true) state.value.dispose();
    return answer;
  }

  private awaited(context: QuickJSContext, returned: QuickJSHandle) {
    const jobs = this.runtime.executePendingJobs();
    if (jobs.error !== undefined) jobs.error.dispose();
    return context.getPromiseState(returned);
  }

  private threw(context: QuickJSContext, thrown: QuickJSHandle): RewardAnswer {
    return this.late() ?? { fault: `the reward function threw ${said(context, thrown)}.` };
  }

  /** An interrupted call ends with an error like any other: what tells it is the time. */
  private late(): RewardAnswer | null {
    if (this.monotonic() <= this.endsMs) return null;
    return { fault: `the reward function took longer than ${rewardMs / 1000} s.` };
  }
}

/** JSON in the sandbox as a value of the sandbox. */
function parse(context: QuickJSContext, text: QuickJSHandle): QuickJSHandle {
  const json = context.getProp(context.global, "JSON");
  return json.consume((holder) =>
    context
      .getProp(holder, "parse")
      .consume((method) => context.unwrapResult(context.callFunction(method, holder, text))),
  );
}

function asNumber(context: QuickJSContext, value: QuickJSHandle): RewardAnswer {
  const plain: unknown = context.dump(value);
  const number = typeof plain === "boolean" ? Number(plain) : plain;
  if (isReward(number)) return { value: number };
  const why = Number.isFinite(number) ? `more than ${largestReward} in size` : "no finite number";
  return { fault: `the reward function returned ${shown(plain)}, which is ${why}.` };
}

function shown(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  return JSON.stringify(value) ?? String(value);
}

/** An error as people read it: its name and its message. */
function said(context: QuickJSContext, thrown: QuickJSHandle): string {
  const plain: unknown = context.dump(thrown);
  if (typeof plain !== "object" || plain === null) return String(plain);
  const { name, message } = plain as { name?: unknown; message?: unknown };
  return [name, message].filter((part) => typeof part === "string" && part !== "").join(": ") || shown(plain);
}
