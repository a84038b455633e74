// A clerk with an adding machine: asks a model, works the machine when the model says so, prints the last reply.
//
//   OPENAI_API_KEY=... node agent.ts "sum of 12 and 30" ["take 8 from 50" ...]
//
// CLERK_MEMORY: chat (default), log or notes: how earlier replies are shown to the model again.
// CLERK_COUNT: how many of the questions are worked on (default 1), each by a clerk of its own, all at the same time.
// CLERK_TOOL_MS: how long the machine takes.

import OpenAI from "openai";
import { compute, type Memory, maxCalls, memories, messagesFor, readUse, type Step } from "./desk.ts";

const memory: Memory = memories.find((name) => name === process.env.CLERK_MEMORY) ?? "chat";
const toolMs = Number(process.env.CLERK_TOOL_MS ?? 0);

async function work(client: OpenAI, question: string): Promise<string> {
  const steps: Step[] = [];
  for (let call = 0; call < maxCalls; call++) {
    const completion = await client.chat.completions.create({
      model: process.env.OPENAI_MODEL ?? "gpt-4o-mini",
      messages: messagesFor(question, steps, memory),
      max_tokens: 16,
    });
    const reply = completion.choices[0]?.message.content ?? "";
    const use = readUse(reply);
    if (use === null) return reply;
    if (toolMs > 0) await new Promise((resolve) => setTimeout(resolve, toolMs));
    steps.push({ reply, use, result: compute(use) });
  }
  return `no answer in ${maxCalls} calls`;
}

const questions = process.argv.slice(2, 2 + Number(process.env.CLERK_COUNT ?? 1));
if (questions.length === 0) {
  console.error('usage: node agent.ts "question" ["question" ...]');
  process.exit(2);
}
const client = new OpenAI(); // OPENAI_BASE_URL and OPENAI_API_KEY
const answers = await Promise.all(questions.map((question) => work(client, question)));
console.log(answers.join("\n"));
