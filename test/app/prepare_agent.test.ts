import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { prepareAgent } from "../../src/app/prepare_agent.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { tempFolder } from "../rollout/rig.ts";

const agent = { command: ["node", "agent.ts"], stdin: "x" };

function prepareWith(source: string | null) {
  const folder = tempFolder();
  writeFileSync(join(folder, "agent.ts"), "console.log(1)");
  const module = join(folder, "prepare.ts");
  if (source !== null) writeFileSync(module, source);
  const context = { files: nodeFiles, folder, cacheFolder: tempFolder(), say: () => undefined };
  return prepareAgent(agent, module, context);
}

describe("prepareAgent", () => {
  it("runs the module on the agent", async () => {
    const source = "export const prepare = ({ agent }: any) => ({ ...agent, env: { MADE: agent.command[1] } });";
    expect(await prepareWith(source)).toEqual({ ...agent, env: { MADE: "agent.ts" } });
    const bundled = await prepareWith('export const prepare = ({ bundle }: any) => bundle(["agent.ts"]);');
    expect(bundled).toEqual({ stdin: "x", command: ["node", expect.stringMatching(/\.mjs$/)] });
  });

  it("leaves the agent alone where there is no module", async () => {
    const context = { files: nodeFiles, folder: "/", cacheFolder: "/", say: () => undefined };
    expect(await prepareAgent(agent, "", context)).toBe(agent);
  });

  it.each([
    [null, /^rollout\.prepare: .*prepare\.ts could not be loaded: /],
    ["export const other = 1;", /prepare\.ts exports no function "prepare"\.$/],
    ["export const prepare = () => { throw new Error('no tools'); };", /prepare\.ts threw: no tools$/],
    ["export const prepare = () => ({ command: [] });", /prepare\.ts returned no agent: command /],
    ["export const prepare = () => 7;", /prepare\.ts returned no agent: /],
    ['export const prepare = ({ bundle }: any) => bundle(["x.ts"]);', /^"x\.ts" is to be bundled and is not in/],
  ])("says what is wrong with the module %s", async (source, message) => {
    await expect(prepareWith(source)).rejects.toThrow(message);
  });
});
