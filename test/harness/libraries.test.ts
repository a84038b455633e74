/**
 * Agents written on other people's libraries, real and unmodified, against the scripted policy: two tool turns and an
 * answer each. Every program ends with 0, heard what was sampled, and continued the recorded tokens verbatim, but where
 * another agent takes over.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ScriptedReply } from "../../src/schema/script.ts";
import { HarnessRig, harnessFolder, wanted } from "./rig.ts";

let rig: HarnessRig;
beforeAll(async () => {
  rig = await HarnessRig.open();
}, 120_000);
afterAll(() => rig?.close());

const call = (id: string, name: string, args: string): ScriptedReply => ({ calls: [{ id, name, arguments: args }] });

/** Spaces, escapes and thinking that not every library sends back: only the sampled tokens keep them. */
const work: readonly ScriptedReply[] = [
  { text: "First the sum.", ...call("call_sum", "add", '{"a": 2,  "b": 3}') },
  { reasoning: "Which room?", ...call("call_code", "lookup", '{"name":"the r\\u00f6om"}') },
  { text: "It is 5, and the code is 4711.\n" },
];
const handoff: readonly ScriptedReply[] = [call("call_over", "transfer_to_Clerk", "{}"), ...work];
const asTool: readonly ScriptedReply[] = [
  call("call_ask", "ask_clerk", '{"input": "2 + 3, and the code?"}'),
  ...work,
  { text: "The clerk says 5 and 4711." },
];

/** What each program's SDK heard, as it printed it. */
function heardBy(stdout: string): unknown {
  const line = stdout.split("\n").find((text) => text.startsWith("HEARD "));
  return line === undefined ? null : JSON.parse(line.slice("HEARD ".length));
}

const asHeard = (script: readonly ScriptedReply[]) =>
  script.map(({ text = "", calls = [] }) => ({
    text,
    calls: calls.map(({ id, name, arguments: args = "{}" }) => ({ id, name, args: JSON.parse(args) })),
  }));

interface Case {
  program: string;
  args: readonly string[];
  dialect: string;
  script?: readonly ScriptedReply[];
  /** What the program tells, where that is not the whole script. */
  heard?: readonly ScriptedReply[];
  lineages?: number;
  breaks?: readonly string[];
}

const cases: readonly Case[] = [
  { program: "openai_sdk", args: ["chat"], dialect: "chat_completions" },
  { program: "openai_sdk", args: ["runner"], dialect: "chat_completions" },
  { program: "openai_sdk", args: ["responses"], dialect: "responses" },
  { program: "anthropic_sdk", args: ["messages"], dialect: "messages" },
  { program: "anthropic_sdk", args: ["runner"], dialect: "messages" },
  { program: "ai_sdk", args: ["chat", "generate"], dialect: "chat_completions" },
  { program: "ai_sdk", args: ["chat", "stream"], dialect: "chat_completions" },
  { program: "ai_sdk", args: ["responses", "generate"], dialect: "responses" },
  { program: "ai_sdk", args: ["responses", "stream"], dialect: "responses" },
  { program: "ai_sdk", args: ["messages", "generate"], dialect: "messages" },
  { program: "ai_sdk", args: ["messages", "stream"], dialect: "messages" },
  { program: "openai_agents", args: ["single", "chat"], dialect: "chat_completions" },
  { program: "openai_agents", args: ["single", "responses"], dialect: "responses" },
  ...["chat", "responses"].flatMap((api): Case[] => {
    const dialect = api === "chat" ? "chat_completions" : api;
    // The second agent gets the history under instructions and tools of its own.
    const over = { script: handoff, lineages: 2, breaks: ["edited"] };
    // The agent behind the tool talks on its own, between two turns of the other.
    const asked = { script: asTool, heard: [asTool[0], asTool[4]] as ScriptedReply[], lineages: 2, breaks: ["side"] };
    return [
      { program: "openai_agents", args: ["handoff", api], dialect, ...over },
      { program: "openai_agents", args: ["as_tool", api], dialect, ...asked },
    ];
  }),
  { program: "langgraph", args: ["chat"], dialect: "chat_completions" },
  { program: "langgraph", args: ["responses"], dialect: "responses" },
];

describe("programs on other people's libraries", () => {
  it.each(cases.map((one) => [`${one.program} ${one.args.join(" ")}`, one] as const))("%s", async (name, one) => {
    const { program, args, dialect, script = work, heard = script, lineages = 1, breaks = [] } = one;
    const run = await rig.run(name.replaceAll(" ", "-"), script, async () => ({
      command: [process.execPath, `programs/${program}.mjs`, ...args],
      cwd: harnessFolder,
      inheritEnv: ["PATH"],
      env: { AI_SDK_LOG_WARNINGS: "false" },
    }));
    expect({ code: run.end.exit?.code, stderr: run.end.exit?.code === 0 ? "" : run.stderr }).toEqual({
      code: 0,
      stderr: "",
    });
    expect(heardBy(run.stdout)).toEqual(asHeard(heard));
    const said = run.records.map((record) => rig.said(record));
    expect(said).toEqual(script.map(wanted));
    expect(run.records.map((record) => [record.dialect, record.delivery])).toEqual(
      script.map(() => [dialect, "delivered"]),
    );
    expect(run).toMatchObject({ lineages, breaks, failures: [], calls: script.length });
    expect(run.continuations).toBe(script.length - lineages);
  });
});
