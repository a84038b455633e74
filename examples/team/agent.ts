// A planner that sends out workers: it asks for the items it does not know, one worker each looks for its item in a
// chat of its own, all at the same time, and the planner reports. Reads the job on standard input and prints the report.
//
//   OPENAI_API_KEY=... node agent.ts < job.json

import OpenAI from "openai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import {
  boxMessage,
  type Job,
  maxWorkerCalls,
  planMessage,
  readAsk,
  readWorkerReply,
  resultsMessage,
  searchMessage,
} from "./messages.ts";

const client = new OpenAI(); // OPENAI_BASE_URL and OPENAI_API_KEY
const { OPENAI_MODEL: both = "gpt-4o-mini", PLANNER_MODEL: planner = both, WORKER_MODEL: worker = both } = process.env;

/** Says something in a chat and adds the model's reply to it. */
async function say(
  model: string,
  chat: ChatCompletionMessageParam[],
  content: string,
  maxTokens: number,
): Promise<string> {
  chat.push({ role: "user", content });
  const completion = await client.chat.completions.create({
    model,
    messages: chat,
    max_tokens: maxTokens,
  });
  const reply = completion.choices[0]?.message.content ?? "";
  chat.push({ role: "assistant", content: reply });
  return reply;
}

async function work(job: Job, item: string): Promise<{ item: string; value: string }> {
  const chat: ChatCompletionMessageParam[] = [];
  let message = searchMessage(job, item);
  for (let call = 0; call < maxWorkerCalls; call++) {
    const action = readWorkerReply(await say(worker, chat, message, 12));
    if (action === null) break;
    if (action.kind === "say") return { item, value: action.value };
    message = boxMessage(job, item, action.box);
  }
  return { item, value: "none" };
}

async function report(job: Job): Promise<string> {
  const chat: ChatCompletionMessageParam[] = [];
  const reply = await say(planner, chat, planMessage(job), 28);
  const asked = readAsk(reply);
  if (asked === null) return reply;
  const results = await Promise.all(asked.map((item) => work(job, item)));
  return say(planner, chat, resultsMessage(results), 28);
}

// As a stream: a worker of a tab has standard input, but no file for it.
let given = "";
for await (const part of process.stdin.setEncoding("utf8")) given += part;
console.log(await report(JSON.parse(given)));
