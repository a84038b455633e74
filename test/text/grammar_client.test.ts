/** Grammars in a worker: what takes too long or ends it fails alone, and the replies of others go on where they were. */
import { describe, expect, it } from "vitest";
import type { WorkerHandle, WorkerPort } from "../../src/schema/platform.ts";
import type { ConstraintCompiler, ConstraintSpec, TokenConstraint } from "../../src/schema/token_constraint.ts";
import { GrammarClient } from "../../src/text/grammar/grammar_client.ts";
import { GrammarLanes } from "../../src/text/grammar/grammar_lanes.ts";
import { serveGrammars } from "../../src/text/grammar/grammar_server.ts";
import { ManualClock, settle } from "../rollout/manual_clock.ts";
import { tinyTokenizerFiles } from "./tiny_tokenizer.ts";

const grammar = (text: string): ConstraintSpec => ({ kind: "grammar", grammar: text });

/** Allows the number of tokens that it has accepted, and nothing else; "free" allows everything. */
const compiler: ConstraintCompiler = {
  async compile(spec): Promise<TokenConstraint> {
    const text = spec.kind === "grammar" ? spec.grammar : "";
    if (text === "slow") await new Promise(() => {});
    if (text === "fatal") throw new WebAssembly.RuntimeError("unreachable");
    let accepted = 0;
    return {
      mask: (out) => {
        if (text === "hang") return new Promise(() => {});
        out[0] = 1 << accepted;
        return text !== "free";
      },
      accept: () => void accepted++,
      dispose: () => {},
    };
  },
};

/** Workers in this thread; `fail` ends one as a crash does. */
class Workers {
  count = 0;
  ended = 0;
  isBroken = false;
  fail: (error: Error) => void = () => {};

  spawn = (): WorkerHandle => {
    this.count++;
    const receivers: ((message: unknown) => void)[] = [() => {}, () => {}];
    let isOver = false;
    const end = (own: number): WorkerPort => ({
      post: (message) => queueMicrotask(() => isOver || receivers[1 - own]?.(structuredClone(message))),
      onMessage: (receive) => {
        receivers[own] = receive;
      },
    });
    if (!this.isBroken) serveGrammars(() => compiler, end(1));
    return {
      ...end(0),
      onError: (receive) => {
        this.fail = receive;
      },
      terminate: async () => {
        isOver = true;
        this.ended++;
      },
    };
  };
}

function open(): { client: GrammarClient; workers: Workers; clock: ManualClock } {
  const workers = new Workers();
  const clock = new ManualClock();
  const files = async () => tinyTokenizerFiles();
  return {
    client: new GrammarClient({ spawn: workers.spawn, files, vocabSize: 20, clock, limitMs: 500, maskLimitMs: 3_000 }),
    workers,
    clock,
  };
}

async function maskOf(constraint: TokenConstraint): Promise<number | null> {
  const bits = new Uint32Array(1);
  return (await constraint.mask(bits)) ? (bits[0] as number) : null;
}

describe("grammars in a worker", () => {
  it("say what may come next, and hear what came", async () => {
    const { client, workers } = open();
    const one = await client.compile(grammar("a"));
    expect(await maskOf(one)).toBe(1);
    await one.accept(7);
    expect(await maskOf(one)).toBe(2);
    expect(await maskOf(await client.compile(grammar("free")))).toBeNull();
    one.dispose();
    expect(workers.count).toBe(1);
  });

  it("that take too long are refused, and others go on in a new worker with what they have accepted", async () => {
    const { client, workers, clock } = open();
    const one = await client.compile(grammar("a"));
    await one.accept(1);
    const slow = client.compile(grammar("slow")).catch((thrown: unknown) => thrown);
    await settle();
    const waiting = maskOf(one);
    const next = client.compile(grammar("b"));
    await clock.advance(500);
    expect(await slow).toMatchObject({
      code: "config",
      message: "What the reply must match takes longer than 500 ms to compile.",
      do: "Use a simpler JSON schema: fewer properties, shorter enums and patterns.",
    });
    expect(await waiting).toBe(2);
    await one.accept(2);
    expect([await maskOf(one), await maskOf(await next), workers.count, workers.ended]).toEqual([4, 1, 2, 1]);
  });

  it("that end the library are refused, and the worker is replaced", async () => {
    const { client, workers } = open();
    const one = await client.compile(grammar("a"));
    await one.accept(1);
    await expect(client.compile(grammar("fatal"))).rejects.toThrow("unreachable");
    await one.accept(2);
    expect([await maskOf(one), workers.count]).toEqual([4, 2]);
  });

  it("a worker that dies fails what it was asked, once", async () => {
    const { client, workers } = open();
    const hanging = await client.compile(grammar("hang"));
    const other = await client.compile(grammar("a"));
    const asked = maskOf(hanging).catch((thrown: unknown) => thrown);
    await settle();
    workers.fail(new Error("out of memory."));
    expect(await asked).toMatchObject({
      code: "config",
      message: "What the reply must match ended the worker that makes grammars.",
      cause: new Error("out of memory."),
    });
    expect([await maskOf(other), workers.count]).toEqual([1, 2]);
  });

  it("whose next tokens take too long are given up alone, however many wait behind them", async () => {
    const { client, workers, clock } = open();
    const hanging = await client.compile(grammar("hang"));
    const other = await client.compile(grammar("a"));
    await other.accept(1);
    const asked = maskOf(hanging).catch((thrown: unknown) => thrown);
    const behind = maskOf(other);
    await clock.advance(3_000);
    expect(await asked).toMatchObject({
      code: "config",
      message: "What the reply must match takes longer than 3000 ms for the next token.",
    });
    expect([await behind, workers.count, clock.waiting]).toEqual([2, 2, 0]);
  });

  it("that cannot be made because no worker starts are refused, and the next try starts one", async () => {
    const { client, workers } = open();
    workers.isBroken = true;
    const refused = client.compile(grammar("a")).catch((thrown: unknown) => thrown);
    await settle();
    workers.fail(new Error("no memory"));
    expect(await refused).toMatchObject({ code: "config", cause: new Error("no memory") });
    workers.isBroken = false;
    expect([await maskOf(await client.compile(grammar("a"))), workers.count]).toEqual([1, 2]);
  });
});

describe("two lanes of grammars", () => {
  it("move what is slow out of the way of what is quick, once", async () => {
    const workers = new Workers();
    const clock = new ManualClock();
    const lanes = new GrammarLanes({
      spawn: workers.spawn,
      files: async () => tinyTokenizerFiles(),
      vocabSize: 20,
      clock,
    });
    const one = await lanes.compile(grammar("a"));
    await one.accept(1);
    const slow = lanes.compile(grammar("slow")).catch((thrown: unknown) => thrown);
    await settle();
    const [waiting, next] = [maskOf(one), lanes.compile(grammar("b"))];
    await clock.advance(2_000);
    expect([await waiting, await maskOf(await next)]).toEqual([2, 1]);
    // The first, its successor, and the one where the slow grammar has its whole time.
    expect([workers.count, workers.ended]).toEqual([3, 1]);
    const again = lanes.compile(grammar("slow")).catch((thrown: unknown) => thrown);
    await clock.advance(20_000);
    expect(await slow).toMatchObject({ message: "What the reply must match takes longer than 20000 ms to compile." });
    expect(await maskOf(one)).toBe(2);
    await clock.advance(20_000);
    expect(await again).toMatchObject({ code: "config" });
    expect(await maskOf(await lanes.compile(grammar("c")))).toBe(1);
    expect(workers.ended).toBe(3);
  });
});
