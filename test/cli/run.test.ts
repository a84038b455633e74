import { describe, expect, it } from "vitest";
import type { Command, CommandContext, CommandTable } from "../../src/cli/command.ts";
import { commands } from "../../src/cli/commands.ts";
import { runCommandLine } from "../../src/cli/run.ts";
import { CancelledError, EnvironmentError } from "../../src/core/errors.ts";
import { fakePlatform } from "./fake_platform.ts";

function tableOf(run: (context: CommandContext) => Promise<number>): CommandTable {
  const command: Command = {
    name: "cook",
    summary: "Cook something.",
    positionals: { usage: "DISH", min: 0, max: 1 },
    options: {
      mode: { kind: "text", choices: ["boil", "bake"], fallback: "boil", summary: "How." },
      set: { kind: "list", value: "A=B", summary: "Change a setting." },
      salt: { kind: "text", summary: "What with.", fallback: "" },
    },
    run,
  };
  return { cook: async () => ({ command }) };
}

async function call(args: readonly string[], run: (context: CommandContext) => Promise<number>, env = {}) {
  const fake = fakePlatform({ args, env });
  const code = await runCommandLine(fake.platform, tableOf(run));
  return { code, out: fake.out(), err: fake.err(), fake };
}

describe("running a command", () => {
  it("gives it its arguments and returns its code", async () => {
    const { code, out, err } = await call(["cook", "soup", "--json"], async (context) => {
      context.print(context.args.positionals.join());
      context.printJson({ json: context.json });
      context.note("stirring");
      return 2;
    });
    expect({ code, out, err }).toEqual({ code: 2, out: 'soup\n{"json":true}\n', err: "stirring\n" });
  });

  it("prints the help of the program for --help, help or nothing", async () => {
    for (const args of [["--help"], ["-h"], ["help"], []]) {
      const { code, out } = await call(args, async () => 1);
      expect(code).toBe(0);
      expect(out).toContain("  cook  Cook something.\n");
      expect(out).toContain("Exit codes: 0 ok, 1 a check failed, 2 incomplete, 3 environment, 4 bad input.");
    }
  });

  it.each([[["cook", "--help"]], [["help", "cook"]]])("prints the help of a command for %j", async (args) => {
    const { code, out } = await call(args, async () => 1);
    expect(code).toBe(0);
    expect(out).toBe(
      [
        "leyden cook DISH [options]",
        "",
        "Cook something.",
        "",
        "  --mode boil|bake  How. (default boil)",
        "  --set A=B         Change a setting. (may be repeated)",
        "  --salt VALUE      What with.",
        "  --json            Print JSON lines instead of text.",
        "  --help            Print this help.",
        "",
      ].join("\n"),
    );
  });

  it("helps with no other commands", async () => {
    const { code, err } = await call(["help", "coook"], async () => 0);
    expect({ code, err }).toEqual({
      code: 4,
      err: 'error [usage]: There is no command "coook".\nDid you mean "cook"?\n',
    });
  });

  it("knows no other commands", async () => {
    for (const name of ["coook", "toString"]) {
      const { code, err, out } = await call([name], async () => 0);
      expect(code).toBe(4);
      expect(out).toBe("");
      expect(err).toMatch(`error [usage]: There is no command "${name}".\n`);
    }
    expect((await call(["coook"], async () => 0)).err).toContain('Did you mean "cook"?\n');
  });

  it("reports a typed error with its code, message and advice", async () => {
    const fail = async () => {
      throw new EnvironmentError("no_oven", "There is no oven.", { do: "Buy one." });
    };
    const text = await call(["cook"], fail);
    expect(text).toMatchObject({ code: 3, out: "", err: "error [no_oven]: There is no oven.\nBuy one.\n" });
    const json = await call(["cook", "--json"], fail);
    expect(json).toMatchObject({ code: 3, err: "" });
    expect(json.out).toBe('{"error":{"code":"no_oven","message":"There is no oven.","do":"Buy one."}}\n');
  });

  it("shows where an unforeseen error comes from, and where a typed one does on request", async () => {
    const unforeseen = await call(["cook"], async () => {
      throw new TypeError("x is not iterable");
    });
    expect(unforeseen.code).toBe(1);
    expect(unforeseen.err).toMatch(
      /^error \[internal\]: x is not iterable\nReport this .*\nTypeError: .*\n +at .*run\.test\.ts/,
    );
    const typed = async () => {
      throw new EnvironmentError("no_oven", "There is no oven.");
    };
    expect((await call(["cook"], typed)).err).not.toContain("run.test.ts");
    expect((await call(["cook"], typed, { LEYDEN_DEBUG: "1" })).err).toContain("run.test.ts");
  });

  it("ends on an error nobody caught", async () => {
    const { fake } = await call(["cook", "--json"], async () => 0);
    fake.uncaught(new EnvironmentError("no_oven", "There is no oven."));
    expect(fake.exitCodes).toEqual([3]);
    expect(fake.out()).toBe('{"error":{"code":"no_oven","message":"There is no oven.","do":""}}\n');
  });
});

describe("stop signal", () => {
  it("ends a command that does not ask for it, as a shell expects", async () => {
    for (const [name, code] of [
      ["SIGINT", 130],
      ["SIGTERM", 143],
    ] as const) {
      const { fake } = await call(["cook"], async () => 0);
      fake.signal(name);
      expect(fake.exitCodes).toEqual([code]);
    }
  });

  it("is given once to a command that asks, and ends the program the second time", async () => {
    let signal: AbortSignal | undefined;
    const { fake } = await call(["cook"], async (context) => {
      signal = context.stopSignal();
      expect(context.stopSignal()).toBe(signal);
      return 0;
    });
    fake.signal("SIGTERM");
    expect(signal?.reason).toBe("SIGTERM");
    expect(fake.exitCodes).toEqual([]);
    fake.signal("SIGINT");
    expect(fake.exitCodes).toEqual([130]);
  });

  it("comes from a page's Stop as from the first Ctrl+C", async () => {
    let signal: AbortSignal | undefined;
    const { code, err, fake } = await call(["cook"], async (context) => {
      signal = context.stopSignal();
      context.stop();
      throw new CancelledError("Cooking");
    });
    expect({ code, err, aborted: signal?.aborted }).toEqual({ code: 2, err: "Stopped.\n", aborted: true });
    fake.signal("SIGINT");
    expect(fake.exitCodes).toEqual([130]);
  });

  it("that cancels a command is no error to a person, and one to a program", async () => {
    const stopped = async (args: readonly string[]) => {
      const fake = fakePlatform({ args });
      const table = tableOf(async (context) => {
        context.stopSignal();
        fake.signal("SIGINT");
        throw new CancelledError("Cooking");
      });
      return { code: await runCommandLine(fake.platform, table), out: fake.out(), err: fake.err() };
    };
    expect(await stopped(["cook"])).toEqual({ code: 2, out: "", err: "Stopped.\n" });
    expect(await stopped(["cook", "--json"])).toMatchObject({
      code: 2,
      out: expect.stringContaining('"code":"cancelled"'),
    });
    const unasked = await call(["cook"], async () => {
      throw new CancelledError("Cooking");
    });
    expect(unasked.err).toContain("error [cancelled]: Cooking was cancelled.");
  });
});

describe("command table", () => {
  it("names each command as its file does", async () => {
    const names = Object.keys(commands);
    expect(names).toContain("doctor");
    for (const [name, load] of Object.entries(commands)) {
      const { command } = await load();
      expect(command.name).toBe(name);
      expect(command.summary).toMatch(/^[A-Z].{10,110}\.$/);
      for (const option of Object.values(command.options)) expect(option.summary).toMatch(/^[A-Z].*\.$/);
    }
  });
});
