/** LangGraph's agent over LangChain's OpenAI models: chat completions and Responses. */
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { tool } from "langchain";
import { heard, instructions, question, tell, toolSpecs } from "./report.mjs";

const [, , dialect] = process.argv;
const llm = new ChatOpenAI({
  model: "policy",
  apiKey: process.env.OPENAI_API_KEY,
  configuration: { baseURL: process.env.OPENAI_BASE_URL },
  useResponsesApi: dialect === "responses",
});
const tools = Object.entries(toolSpecs).map(([name, { description, parameters, run }]) =>
  tool(async (args) => run(args), { name, description, schema: parameters }),
);
const agent = createReactAgent({ llm, tools, prompt: instructions });
const { messages } = await agent.invoke({ messages: [{ role: "user", content: question }] });
tell(messages.filter((message) => message.getType() === "ai").map(({ text, tool_calls: calls }) => heard(text, calls)));
