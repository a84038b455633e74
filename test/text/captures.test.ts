import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type ChatRequest, chatRequestSchema, type RecordedCall } from "../../src/schema/chat.ts";
import { chatmlTemplate } from "../../src/text/chatml.ts";
import { itShared } from "../shared.ts";
import { tinyFormat } from "./formats.ts";

interface Capture {
  scenario: string;
  path: string;
  body: { messages?: unknown; tools?: { type?: string }[] };
}

/** The chat-completions requests of a program, by scenario, in order. */
function scenarios(folder: string): Map<string, ChatRequest[]> {
  const out = new Map<string, ChatRequest[]>();
  for (const file of readdirSync(folder).sort()) {
    if (!file.endsWith("-request.json")) continue;
    const capture = JSON.parse(readFileSync(join(folder, file), "utf8")) as Capture;
    if (!capture.path.includes("chat/completions")) continue;
    const tools = capture.body.tools?.filter((tool) => tool.type === "function");
    const request = chatRequestSchema.parse({ messages: capture.body.messages, tools });
    out.set(capture.scenario, [...(out.get(capture.scenario) ?? []), request]);
  }
  return out;
}

/** The message that a later request of the scenario shows to have answered this one. */
function answer(request: ChatRequest, later: readonly ChatRequest[]) {
  const at = request.messages.length;
  const same = (other: ChatRequest) =>
    JSON.stringify(other.messages.slice(0, at)) === JSON.stringify(request.messages) &&
    other.messages[at]?.role === "assistant";
  return later.find(same)?.messages[at] ?? null;
}

itShared("requests of real programs are read, and continue what they repeat", "captures", (folder) => {
  const format = tinyFormat(chatmlTemplate);
  let continued = 0;
  let requests = 0;
  for (const program of readdirSync(folder, { withFileTypes: true })) {
    if (!program.isDirectory()) continue;
    for (const scenario of scenarios(join(folder, program.name)).values()) {
      const recorded: RecordedCall[] = [];
      for (const [i, request] of scenario.entries()) {
        const repeated = recorded.find((call) => {
          const at = call.request.messages.length;
          const beginning = JSON.stringify(request.messages.slice(0, at)) === JSON.stringify(call.request.messages);
          return (
            beginning && call.reply !== null && JSON.stringify(request.messages[at]) === JSON.stringify(call.reply)
          );
        });
        const encoded = format.encodeRequest(request, recorded);
        if (repeated && JSON.stringify(repeated.request.tools) === JSON.stringify(request.tools)) {
          expect(encoded.break).toBeNull();
          expect(encoded.parentCall).not.toBeNull();
          continued++;
        }
        expect(encoded.break).not.toBe("unknown");
        const reply = answer(request, scenario.slice(i + 1));
        const replyIds = format.tokenizer.encode("reply<|im_end|>");
        recorded.push({ id: `${i}`, request, reply, promptIds: encoded.ids, replyIds });
        requests++;
      }
    }
  }
  expect(requests).toBeGreaterThan(50);
  expect(continued).toBeGreaterThan(25);
});
