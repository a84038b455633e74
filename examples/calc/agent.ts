// A small agent: asks a model, runs the calculator when the model calls it, prints the answer.
//
//   OPENAI_API_KEY=... node agent.ts "Ann has 12 pens and buys 30 more. How many pens now?"

import OpenAI from "openai";
import type {
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from "openai/resources/chat/completions";
import { calculate } from "./calculator.ts";

const MAX_CALLS = 4;

const tools: ChatCompletionTool[] = [
  {
    type: "function",
    function: {
      name: "calculator",
      description: "Evaluate arithmetic.",
      parameters: {
        type: "object",
        properties: { expression: { type: "string" } },
        required: ["expression"],
      },
    },
  },
];

function runTool(call: ChatCompletionMessageFunctionToolCall): string {
  if (call.function.name !== "calculator") return "error: unknown tool";
  let args: unknown;
  try {
    args = JSON.parse(call.function.arguments);
  } catch {
    return "error: arguments are not JSON";
  }
  const expression = (args as { expression?: unknown } | null)?.expression;
  return typeof expression === "string" ? calculate(expression) : "error: expression is missing";
}

async function main(question: string): Promise<void> {
  const client = new OpenAI(); // OPENAI_BASE_URL and OPENAI_API_KEY
  const messages: ChatCompletionMessageParam[] = [
    { role: "system", content: "Answer with the calculator." },
    { role: "user", content: question },
  ];
  for (let i = 0; i < MAX_CALLS; i++) {
    const completion = await client.chat.completions.create({
      model: process.env.OPENAI_MODEL ?? "gpt-4o-mini",
      messages,
      tools,
      max_tokens: 64,
    });
    const message = completion.choices[0]?.message;
    if (!message?.tool_calls?.length) {
      console.log(message?.content ?? "");
      return;
    }
    messages.push(message);
    for (const call of message.tool_calls) {
      if (call.type !== "function") continue;
      messages.push({ role: "tool", tool_call_id: call.id, content: runTool(call) });
    }
  }
  console.log(`I found no answer in ${MAX_CALLS} steps.`);
}

const question = process.argv[2];
if (!question) {
  console.error('usage: node agent.ts "question"');
  process.exit(2);
}
await main(question);
