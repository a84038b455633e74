/** The calc agent against a stub model: from its source on Node, as people run it, and prepared, as a run starts it. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemText, tool } from "../../examples/calc/conversation.ts";
import { prepareAgent } from "../../src/app/prepare_agent.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import type { AgentCommand } from "../../src/schema/agent.ts";
import { tempFolder } from "../rollout/rig.ts";
import { type StubReply, stubModel } from "./stub_model.ts";

const folder = fileURLToPath(new URL("../../examples/calc/", import.meta.url));
const call = (text: string): StubReply => ({ calls: [{ arguments: text }] });

/** The agent's command line as a run makes it. */
async function prepared(): Promise<AgentCommand> {
  const context = { files: nodeFiles, folder, cacheFolder: tempFolder(), say: () => undefined };
  return prepareAgent({ command: ["node", "agent.ts"] }, `${folder}prepare.ts`, context);
}

async function runAgent(agent: AgentCommand, replies: StubReply[], args = ["How many?"]) {
  const { url, requests } = await stubModel(replies);
  const env = { PATH: process.env.PATH, ...agent.env, OPENAI_BASE_URL: url, OPENAI_API_KEY: "rollout-key" };
  const [program = "", ...rest] = agent.command;
  const child = spawn(program, [...rest, ...args], { env, stdio: "pipe" });
  onTestFinished(() => void child.kill());
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { code, output, requests };
}

const fromSource: AgentCommand = { command: [process.execPath, `${folder}agent.ts`] };

describe.each([
  ["from its source", async () => fromSource],
  ["prepared", prepared],
])("calc agent, %s", (_, command) => {
  it("asks with its tool, runs it, and prints the answer", async () => {
    const { code, output, requests } = await runAgent(
      await command(),
      [call('{"expression": "(12+30)*2"}'), { content: "The answer is 84." }],
      ["Twice 12 and 30?"],
    );
    expect({ code, output }).toEqual({ code: 0, output: "The answer is 84.\n" });
    expect(requests.map(({ path, key }) => [path, key])).toEqual([
      ["/v1/chat/completions", "Bearer rollout-key"],
      ["/v1/chat/completions", "Bearer rollout-key"],
    ]);
    expect(requests[0]?.body).toMatchObject({
      messages: [
        { role: "system", content: systemText },
        { role: "user", content: "Twice 12 and 30?" },
      ],
      tools: [tool],
      max_tokens: 64,
    });
    // Key order decides the prompt's text: the tool must be the template's, byte for byte.
    expect(JSON.stringify(requests[0]?.body.tools)).toBe(JSON.stringify([tool]));
    expect(requests[1]?.body.messages.slice(2)).toMatchObject([
      { role: "assistant", tool_calls: [{ id: "call_1_0" }] },
      { role: "tool", tool_call_id: "call_1_0", content: "84" },
    ]);
  });

  it("tells the model what is wrong with a call, and goes on", async () => {
    const { requests, output } = await runAgent(await command(), [
      { calls: [{ arguments: '{"input": "1+1"}' }, { arguments: "[]" }, { arguments: "{broken" }] },
      { calls: [{ name: "search", arguments: "{}" }, { arguments: '{"expression": "2**3"}' }] },
      { content: "The answer is 2." },
    ]);
    const results = requests
      .at(-1)
      ?.body.messages.filter(({ role }) => role === "tool")
      .map(({ content }) => content);
    expect(results).toEqual([
      "error: expression is missing",
      "error: expression is missing",
      "error: arguments are not JSON",
      "error: unknown tool",
      "error",
    ]);
    expect(output).toBe("The answer is 2.\n");
  });

  it("gives up after four calls, without failing", async () => {
    const { code, output, requests } = await runAgent(await command(), [call('{"expression": "1+1"}')]);
    expect(requests).toHaveLength(4);
    expect({ code, output }).toEqual({ code: 0, output: "I found no answer in 4 steps.\n" });
  });

  it("says how it is used", async () => {
    const { code, output, requests } = await runAgent(await command(), [{ content: "" }], []);
    expect({ code, output }).toEqual({ code: 2, output: 'usage: node agent.ts "question"\n' });
    expect(requests).toEqual([]);
  });
});
