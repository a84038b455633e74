/** What a clerk is told and may say, and the adding machine on the desk. */

/** A use of the machine that a reply asks for. */
export interface Use {
  left: string;
  operator: "plus" | "minus";
  right: string;
}

/** One use of the machine: the reply that asked for it, what it asks for, and what came out. */
export interface Step {
  reply: string;
  use: Use;
  result: string;
}

/** How the harness shows the model what has happened so far. */
export type Memory = "chat" | "log" | "notes";

/** Every way to remember. */
export const memories: readonly Memory[] = ["chat", "log", "notes"];

/** A message as chat APIs take it. */
export interface Message {
  role: "user" | "assistant";
  content: string;
}

/** Calls of one clerk, the last reply included. */
export const maxCalls = 4;
/** Numbers the machine can show. */
const largest = 99;

const usePattern = /^use (\d{1,2}) (plus|minus) (\d{1,2})$/;

/** Reads "use 12 plus 30"; null for any other reply, which is then the final one. */
export function readUse(reply: string): Use | null {
  const [, left, operator, right] = usePattern.exec(reply) ?? [];
  if (left === undefined || right === undefined) return null;
  return { left, operator: operator as Use["operator"], right };
}

/** What the machine shows: a number from 0 to 99, or "error". */
export function compute({ left, operator, right }: Use): string {
  const value = operator === "plus" ? Number(left) + Number(right) : Number(left) - Number(right);
  return value >= 0 && value <= largest ? String(value) : "error";
}

/** The reply that asks for a use. */
export function useText({ left, operator, right }: Use): string {
  return `use ${left} ${operator} ${right}`;
}

/** What the clerk is told of a result. */
export function resultText(result: string): string {
  return `result ${result}`;
}

/**
 * The messages of the next call. "chat": the conversation as it was, every reply word for word. "log": the same, but the
 * harness puts each earlier reply into words of its own. "notes": one message with the question and the results so far.
 */
export function messagesFor(question: string, steps: readonly Step[], memory: Memory): Message[] {
  const results = steps.map(({ result }) => resultText(result));
  if (memory === "notes") return [{ role: "user", content: [question, ...results].join("\n") }];
  const turns = steps.flatMap(({ reply, use }, i): Message[] => [
    { role: "assistant", content: memory === "log" ? useText(use).replace("use", "used") : reply },
    { role: "user", content: results[i] as string },
  ]);
  return [{ role: "user", content: question }, ...turns];
}
