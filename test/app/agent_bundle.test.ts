import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bundleAgent } from "../../src/app/agent_bundle.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { tempFolder } from "../rollout/rig.ts";

function context(texts: Record<string, string>) {
  const folder = tempFolder();
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(join(folder, "sub"), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const said: string[] = [];
  return { files: nodeFiles, folder, cacheFolder: tempFolder(), say: (line: string) => said.push(line), said };
}

describe("bundleAgent", () => {
  it("puts a bundle in the script's place: one file that does the same", async () => {
    const where = context({
      "sub/agent.ts": 'import { greet } from "../words.ts"; console.log(greet(process.argv[2] as string));',
      "words.ts": 'export const greet = (name: string): string => ["hello", name].join(" ");',
    });
    const agent = { command: ["node", "sub/agent.ts", "{input.name}"], stdin: "x" };
    const bundled = await bundleAgent(agent, ["sub/agent.ts"], where);
    expect(bundled).toMatchObject({ stdin: "x", command: ["node", expect.stringMatching(/\.mjs$/), "{input.name}"] });
    const script = bundled.command[1] as string;
    expect(script.startsWith(where.cacheFolder)).toBe(true);
    const { stdout } = spawnSync(process.execPath, [script, "Ann"], { cwd: tempFolder(), encoding: "utf8" });
    expect(stdout).toBe("hello Ann\n");
    expect(where.said).toEqual([]);
  });

  it("keeps scripts of the same name apart", async () => {
    const [a, b] = [context({ "agent.ts": "console.log(1)" }), context({ "agent.ts": "console.log(2)" })];
    const cacheFolder = tempFolder();
    const build = (where: typeof a) => bundleAgent({ command: ["agent.ts"] }, ["agent.ts"], { ...where, cacheFolder });
    expect((await build(a)).command).not.toEqual((await build(b)).command);
  });

  it("changes nothing when there is nothing to bundle", async () => {
    const agent = { command: ["python", "agent.py"] };
    expect(await bundleAgent(agent, [], context({}))).toBe(agent);
  });

  it("refuses a script that is not in the command, or does not compile", async () => {
    const where = context({ "agent.ts": "import './missing.ts';" });
    await expect(bundleAgent({ command: ["node", "./agent.ts"] }, ["agent.ts"], where)).rejects.toThrow(
      '"agent.ts" is to be bundled and is not in rollout.command.',
    );
    await expect(bundleAgent({ command: ["agent.ts"] }, ["agent.ts"], where)).rejects.toThrow(
      /^The agent .*agent\.ts cannot be bundled: .*missing\.ts/,
    );
  });
});
