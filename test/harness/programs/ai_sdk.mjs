/** The ai package with its providers: chat completions, Responses (its default for OpenAI), and Anthropic Messages. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { heard, instructions, question, tell, toolSpecs } from "./report.mjs";

const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey, ANTHROPIC_BASE_URL: nativeUrl } = process.env;
const models = {
  chat: createOpenAICompatible({ name: "gateway", baseURL, apiKey })("policy"),
  responses: createOpenAI({ baseURL, apiKey })("policy"),
  messages: createAnthropic({ baseURL: `${nativeUrl}/v1`, apiKey })("policy"),
};
const tools = Object.fromEntries(
  Object.entries(toolSpecs).map(([name, { description, parameters, run }]) => [
    name,
    tool({ description, inputSchema: jsonSchema(parameters), execute: async (args) => run(args) }),
  ]),
);
const [, , dialect, how] = process.argv;
const settings = { model: models[dialect], tools, stopWhen: isStepCount(5), instructions, prompt: question };

const steps =
  how === "stream"
    ? await (async () => {
        const streamed = streamText(settings);
        await streamed.consumeStream();
        return await streamed.steps;
      })()
    : (await generateText(settings)).steps;
tell(
  steps.map(({ text, toolCalls }) =>
    heard(
      text,
      toolCalls.map(({ toolCallId, toolName, input }) => ({ id: toolCallId, name: toolName, args: input })),
    ),
  ),
);
