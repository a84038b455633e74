import { type Harness, trialPrompt, trialReadme } from "../../rollout/harnesses/harness.ts";
import { type HarnessPlace, placeHarness } from "../../rollout/harnesses/place.ts";
import type { AgentCommand } from "../../schema/agent.ts";
import type { Files } from "../../schema/files.ts";
import type { AgentAccess } from "../../schema/rollout_client.ts";
import type { ScriptedReply } from "../../schema/script.ts";

/** Variables of ours that a harness may see besides those it is given: its own settings stay out of a trial. */
const inherited = ["PATH", "LANG", "LC_ALL", "TERM", "SystemRoot", "ComSpec", "PATHEXT"];

/** Folders of a trial: `workspace` is the agent's, `home` holds its settings. */
export function trialFolders(files: Files, folder: string): { workspace: string; home: string; temp: string } {
  return {
    workspace: files.join(folder, "workspace"),
    home: files.join(folder, "home"),
    temp: files.join(folder, "tmp"),
  };
}

/** What a harness would be told to do in a folder, without an address to talk to. */
export function trialScript(files: Files, harness: Harness, folder: string): readonly ScriptedReply[] {
  return placeHarness(harness, placeIn(files, folder, { key: "", openaiBaseUrl: "", nativeBaseUrl: "" })).trial;
}

/** Lays out a harness's home and workspace below a folder, and returns how it is started for an attempt. */
export async function layOutHarness(
  files: Files,
  harness: Harness,
  { folder, access, program }: { folder: string; access: AgentAccess; program: string },
): Promise<AgentCommand> {
  const place = placeIn(files, folder, access);
  const placed = placeHarness(harness, place);
  const { temp } = trialFolders(files, folder);
  for (const path of [place.workspace, place.home, temp]) await files.makeFolder(path);
  await files.write(files.join(place.workspace, "README.md"), trialReadme);
  for (const [path, text] of Object.entries(placed.files)) await files.write(files.join(place.home, path), text);
  return {
    command: [program, ...placed.args],
    cwd: place.workspace,
    env: { HOME: place.home, USERPROFILE: place.home, TMPDIR: temp, ...placed.env },
    inheritEnv: inherited,
  };
}

function placeIn(
  files: Files,
  folder: string,
  { key, openaiBaseUrl, nativeBaseUrl }: Pick<AgentAccess, "key" | "openaiBaseUrl" | "nativeBaseUrl">,
): HarnessPlace {
  const { workspace, home } = trialFolders(files, folder);
  const model = "policy";
  return { prompt: trialPrompt, workspace, home, openaiUrl: openaiBaseUrl, nativeUrl: nativeBaseUrl, key, model };
}
