/**
 * Calls that a harness makes beside its work, such as for a title of the session: the policy answers them, and they are
 * recorded, but what it says there has no part in the reward.
 */
import type { ChatMessage, ChatRequest } from "../../src/schema/chat.ts";

/** Which calls are beside the work; all that a rule states has to be so. */
export interface SideRule {
  /** As recorded with the calls. */
  name: string;
  /** The request offers no tools. */
  withoutTools?: boolean;
  /** Source of a regular expression that the instructions match, or the last message where there are none. */
  words?: string;
  /** The model that the harness asks for, exactly. */
  model?: string;
}

/** What coding agents are known to ask for beside their work. */
export const knownSideRules: readonly SideRule[] = Object.freeze([
  {
    name: "title",
    withoutTools: true,
    words: "\\b(title generator|(conversation|session|chat|thread) title|generate an? ([a-z]+,? ){0,4}title)\\b",
  },
]);

function textOf({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("\n");
}

function instructions({ messages }: ChatRequest): string {
  const system = messages.filter(({ role }) => role === "system" || role === "developer");
  return (system.length > 0 ? system : messages.slice(-1)).map(textOf).join("\n");
}

/** The rules, ready to be asked. */
export class SideRules {
  private readonly rules: readonly (SideRule & { pattern: RegExp | null })[];

  /** @throws SyntaxError for words that are no regular expression */
  constructor(rules: readonly SideRule[]) {
    this.rules = rules.map((rule) => ({
      ...rule,
      pattern: rule.words === undefined ? null : new RegExp(rule.words, "i"),
    }));
  }

  /** The name of the first rule that a call falls under; null for a call that is part of the work. */
  match(chat: ChatRequest, model: string | null): string | null {
    const found = this.rules.find(
      (rule) =>
        !(rule.withoutTools && chat.tools?.length) &&
        (rule.model === undefined || rule.model === model) &&
        (rule.pattern === null || rule.pattern.test(instructions(chat))),
    );
    return found?.name ?? null;
  }
}
