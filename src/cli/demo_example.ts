import type { DemoAttempt, DemoExample } from "../app/demo.ts";
import type { TranscriptCall } from "../schema/grader.ts";

/** Most characters of a text that are shown. */
const shownLength = 100;

/** The text in one line, cut where it is long. */
function short(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= shownLength ? line : `${line.slice(0, shownLength)}…`;
}

function messagesOf({ request }: TranscriptCall): Record<string, unknown>[] {
  return Array.isArray(request.messages) ? (request.messages as Record<string, unknown>[]) : [];
}

/** Content of the last message of a role; empty without one that is a text. */
function lastOf(call: TranscriptCall | undefined, role: string): string {
  const said = call === undefined ? undefined : messagesOf(call).findLast((message) => message.role === role)?.content;
  return typeof said === "string" ? said : "";
}

/** Arguments as a reader needs them: the value alone where there is one only. */
function argumentsText(json: string): string {
  try {
    const values = Object.values(JSON.parse(json) as object);
    if (values.length === 1) return String(values[0]);
  } catch {
    // The model wrote no JSON: what it wrote is what there is to see.
  }
  return json;
}

/** What the model did, call after call; a tool's answer stands in the call that follows. */
function steps({ calls }: DemoAttempt): string[] {
  return calls.map((call, i) => {
    if (!call.ok) return `a call that failed (${call.httpStatus})`;
    if (call.toolCalls.length === 0) return `says "${short(call.text ?? "")}"`;
    const used = call.toolCalls.map((tool) => `${tool.name}(${short(argumentsText(tool.arguments))})`).join(", ");
    const answer = lastOf(calls[i + 1], "tool");
    return answer === "" ? used : `${used} = ${short(answer)}`;
  });
}

/** One held-out task with what the agent did before and after, for people; nothing where nothing was recorded. */
export function exampleLines(example: DemoExample | null): string[] {
  if (example === null) return [];
  const [first] = [...example.before.calls, ...example.after.calls];
  const line = (when: string, attempt: DemoAttempt): string =>
    `  ${when}: ${steps(attempt).join(", then ") || "no call"} (reward ${attempt.reward})`;
  return ["", `One of them: ${lastOf(first, "user")}`, line("before", example.before), line(" after", example.after)];
}
