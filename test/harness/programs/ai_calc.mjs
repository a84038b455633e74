/** An agent with a calculator on the ai package: `node ai_calc.mjs "QUESTION"`. It knows nothing of training. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, jsonSchema, tool } from "ai";

const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey } = process.env;
const model = createOpenAICompatible({ name: "gateway", baseURL, apiKey })("policy");

/** Sums and products as the model writes them: "12 + 30", "3*(4+5)". */
function evaluate(expression) {
  if (!/^[\d+\-*/(). ]+$/.test(expression)) return "error: not arithmetic";
  try {
    return String(new Function(`return (${expression})`)());
  } catch {
    return "error: not arithmetic";
  }
}

const calculator = tool({
  description: "Evaluate arithmetic.",
  inputSchema: jsonSchema({
    type: "object",
    properties: { expression: { type: "string" } },
    required: ["expression"],
  }),
  execute: async ({ expression }) =>
    typeof expression === "string" ? evaluate(expression) : "error: expression is missing",
});

const { text } = await generateText({
  model,
  tools: { calculator },
  stopWhen: isStepCount(4),
  maxOutputTokens: 64,
  instructions: "Answer with the calculator.",
  prompt: process.argv[2] ?? "",
});
console.log(text);
