import { describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { commandHelp } from "../../src/cli/help.ts";
import { runLeyden } from "./run_leyden.ts";

describe("the help of every command", () => {
  it.each(Object.keys(commands))("says nothing twice and names no default that is nothing: %s", async (name) => {
    const load = commands[name];
    const help = commandHelp((await (load as NonNullable<typeof load>)()).command);
    expect(help).not.toMatch(/\(default \)/);
    expect(help).not.toMatch(/may be repeated.*may be repeated/);
    expect(help).not.toMatch(/\bfor tests\b/);
  });

  it("names the suites whose parts can be chosen, and where their state is", async () => {
    const { out } = await runLeyden(["bench", "--help"]);
    expect(out).toContain("Part to measure of a suite that has choices: async, memory, peers, examples.");
    expect(out).toContain("Where the suite async, and digits of examples, keep what is done");
  });

  it("is what leyden help COMMAND prints", async () => {
    expect((await runLeyden(["help", "train"])).out).toBe((await runLeyden(["train", "--help"])).out);
  });
});
