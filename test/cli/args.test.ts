import { describe, expect, it } from "vitest";
import { parseCommandLine } from "../../src/cli/args.ts";
import type { Command } from "../../src/cli/command.ts";

const command: Command = {
  name: "cook",
  summary: "Cook something.",
  positionals: { usage: "DISH [SIDE]", min: 1, max: 2 },
  options: {
    out: { kind: "text", value: "DIR", summary: "Where to." },
    mode: { kind: "text", choices: ["boil", "bake"], fallback: "boil", summary: "How." },
    seed: { kind: "integer", summary: "Seed." },
    heat: { kind: "number", min: 0, fallback: 1, summary: "Heat." },
    set: { kind: "list", value: "A.B=C", summary: "Change a setting." },
    quick: { kind: "flag", summary: "Hurry." },
  },
  run: async () => 0,
};

const parse = (...argv: string[]) => parseCommandLine(command, argv);

/** The message and the advice of the error these arguments give. */
function refusal(...argv: string[]): unknown {
  try {
    parse(...argv);
  } catch (thrown) {
    return thrown;
  }
  return "accepted";
}

describe("command line", () => {
  it("reads options of every kind, before and after positionals", () => {
    const args = parse(
      "--seed",
      "-7",
      "soup",
      "--heat=0.5",
      "--set",
      "a.b=1",
      "--set=c=d e",
      "--quick",
      "rice",
      "--out",
      "x",
    );
    expect(args.positionals).toEqual(["soup", "rice"]);
    expect(args.number("seed")).toBe(-7);
    expect(args.requireNumber("heat")).toBe(0.5);
    expect(args.list("set")).toEqual(["a.b=1", "c=d e"]);
    expect(args.flag("quick")).toBe(true);
    expect(args.requireText("out")).toBe("x");
  });

  it("fills in fallbacks and nothing else", () => {
    const args = parse("soup");
    expect(args.requireText("mode")).toBe("boil");
    expect(args.number("heat")).toBe(1);
    expect(args.number("seed")).toBeUndefined();
    expect(args.text("out")).toBeUndefined();
    expect(args.list("set")).toEqual([]);
    expect(args.flag("quick")).toBe(false);
    expect([args.has("mode"), args.has("seed")]).toEqual([true, false]);
  });

  it("takes what follows -- as positionals, and values that look like options after =", () => {
    expect(parse("--", "--seed").positionals).toEqual(["--seed"]);
    expect(parse("soup", "--out=--odd").text("out")).toBe("--odd");
  });

  it("asks for what a command cannot do without", () => {
    expect(() => parse("soup").requireText("out")).toThrow("--out is missing.");
    expect(() => parse("soup").requireNumber("seed")).toThrow("--seed is missing.");
  });

  it.each([
    [["soup", "--sed", "1"], "leyden cook has no option --sed.", 'Did you mean "--seed"?'],
    [
      ["soup", "--wxyz"],
      "leyden cook has no option --wxyz.",
      "Known are: --out, --mode, --seed, --heat, --set, --quick, --json, --help.",
    ],
    [
      ["soup", "-q"],
      "leyden cook has no option -q.",
      "Known are: --out, --mode, --seed, --heat, --set, --quick, --json, --help.",
    ],
    [
      ["soup", "--constructor"],
      "leyden cook has no option --constructor.",
      "Known are: --out, --mode, --seed, --heat, --set, --quick, --json, --help.",
    ],
    [["soup", "--out"], "--out needs a value.", "Pass --out DIR."],
    [["soup", "--out", "--quick"], "--out needs a value.", "Pass --out DIR."],
    [["soup", "--seed", "1.5"], '--seed is "1.5", which is not a whole number.', "Pass --seed N."],
    [["soup", "--seed="], '--seed is "", which is not a whole number.', "Pass --seed N."],
    [["soup", "--heat", "warm"], '--heat is "warm", which is not a number.', "Pass --heat N."],
    [["soup", "--heat", "Infinity"], '--heat is "Infinity", which is not a number.', "Pass --heat N."],
    [["soup", "--heat=-1"], "--heat is -1, below 0.", "Pass 0 or more."],
    [["soup", "--mode", "bak"], '--mode is "bak".', 'Did you mean "bake"?'],
    [["soup", "--mode", "x"], '--mode is "x".', "Known are: boil, bake."],
    [["soup", "--quick=yes"], '--quick takes no value, but got "yes".', "Pass --quick."],
    [["soup", "--seed", "1", "--seed", "2"], "--seed is given twice.", "Pass it once."],
    [[], "leyden cook needs DISH [SIDE].", "Use: leyden cook DISH [SIDE]"],
    [["a", "b", "c"], '"c" is one argument too many for leyden cook.', "Use: leyden cook DISH [SIDE]"],
  ])("refuses %j", (argv, message, advice) => {
    expect(refusal(...argv)).toMatchObject({ code: "usage", exitCode: 4, message, do: advice });
  });

  it("does not ask for positionals when asked for help", () => {
    expect(parse("--help").flag("help")).toBe(true);
    expect(parse("-h").flag("help")).toBe(true);
  });
});
