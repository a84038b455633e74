/** The @openai/agents package: one agent, a handoff to another one, and an agent used as a tool of another. */
import { Agent, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { heard, instructions, question, tell, toolSpecs } from "./report.mjs";

const [, , variant, api] = process.argv;
setTracingDisabled(true);
setDefaultOpenAIClient(new OpenAI());
setOpenAIAPI(api === "chat" ? "chat_completions" : "responses");

const tools = Object.entries(toolSpecs).map(([name, { description, parameters, run: execute }]) =>
  tool({ name, description, parameters, strict: true, execute }),
);
const model = "policy";
const clerk = new Agent({ name: "Clerk", model, instructions, tools });

const agents = {
  single: () => clerk,
  handoff: () => new Agent({ name: "Desk", model, instructions: "Hand everything to the clerk.", handoffs: [clerk] }),
  as_tool: () =>
    new Agent({
      name: "Desk",
      model,
      instructions: "Ask the clerk.",
      tools: [clerk.asTool({ toolName: "ask_clerk", toolDescription: "Asks the clerk." })],
    }),
};

const result = await run(agents[variant](), question);
/** Items of one response follow each other: a text, then its calls. */
const replies = result.rawResponses.map(({ output }) =>
  heard(
    output
      .filter(({ type }) => type === "message")
      .flatMap(({ content }) => content.map(({ text }) => text))
      .join(""),
    output
      .filter(({ type }) => type === "function_call")
      .map(({ callId, name, arguments: args }) => ({ id: callId, name, args: JSON.parse(args) })),
  ),
);
tell(replies);
