// An agent that explores a vault: it keeps notes instead of a conversation, so every call of its model is a chat of
// one message. It reads the vault on standard input and prints the model's last reply.
//
//   OPENAI_API_KEY=... node agent.ts < vault.json

import OpenAI from "openai";
import { maxCalls, messageFor, type Note, openRoom, readAction, type Vault } from "./rooms.ts";

async function explore(vault: Vault): Promise<string> {
  const client = new OpenAI(); // OPENAI_BASE_URL and OPENAI_API_KEY
  const notes: Note[] = [];
  for (let call = 0; call < maxCalls; call++) {
    const completion = await client.chat.completions.create({
      model: process.env.OPENAI_MODEL ?? "gpt-4o-mini",
      messages: [{ role: "user", content: messageFor(vault, notes) }],
      max_tokens: 16,
    });
    const reply = completion.choices[0]?.message.content ?? "";
    const action = readAction(reply);
    if (action?.kind !== "open") return reply;
    notes.push(openRoom(vault, action.room));
  }
  return `I found no code in ${maxCalls} calls.`;
}

// As a stream: a worker of a tab has standard input, but no file for it.
let given = "";
for await (const part of process.stdin.setEncoding("utf8")) given += part;
console.log(await explore(JSON.parse(given)));
