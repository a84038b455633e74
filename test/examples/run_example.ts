import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { prepareAgent } from "../../src/app/prepare_agent.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import type { AgentCommand } from "../../src/schema/agent.ts";
import type { ExperimentConfig } from "../../src/schema/experiment.ts";
import { tempFolder } from "../rollout/rig.ts";
import { type StubReplies, type StubRequest, stubModel } from "./stub_model.ts";

/** Folder of an example. */
export function exampleFolder(name: string): string {
  return fileURLToPath(new URL(`../../examples/${name}/`, import.meta.url));
}

/** Its configuration, complete. */
export function exampleConfig(name: string): ExperimentConfig {
  return parseConfig(JSON.parse(readFileSync(`${exampleFolder(name)}config.json`, "utf8")));
}

/** Its agent's command line as a run makes it. */
export function preparedAgent(name: string): Promise<AgentCommand> {
  const folder = exampleFolder(name);
  const { command, prepare } = exampleConfig(name).rollout;
  const context = { files: nodeFiles, folder, cacheFolder: tempFolder(), say: () => undefined };
  return prepareAgent({ command }, fileURLToPath(new URL(prepare, `file://${folder}`)), context);
}

/** Its agent as people start it, from its source. */
export function agentFromSource(name: string): AgentCommand {
  return { command: [process.execPath, `${exampleFolder(name)}agent.ts`] };
}

/** Runs an agent on a task given as JSON against a stub model. */
export async function runExampleAgent(
  agent: AgentCommand,
  task: unknown,
  replies: StubReplies,
): Promise<{ code: unknown; output: string; requests: StubRequest[] }> {
  const { url, requests } = await stubModel(replies);
  const env = { PATH: process.env.PATH, ...agent.env, OPENAI_BASE_URL: url, OPENAI_API_KEY: "rollout-key" };
  const [program = "", ...args] = agent.command;
  const child = spawn(program, args, { env, stdio: "pipe" });
  onTestFinished(() => void child.kill());
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
    });
  }
  child.stdin.end(JSON.stringify(task));
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { code, output, requests };
}
