/** The markers around thinking that Qwen3, DeepSeek-R1 and their kin write. */
export const thinkOpen = "<think>";
export const thinkClose = "</think>";

/** A text without its thinking. */
export interface SplitReasoning {
  /** Null when there is none or it is blank. */
  reasoning: string | null;
  rest: string;
}

/**
 * Separates leading thinking from the answer, without the newlines around either. `opened`: the prompt already holds
 * the opening marker. Thinking that does not end is thinking to the last token; markers later in the answer are text.
 */
export function splitReasoning(text: string, opened: boolean): SplitReasoning {
  const explicit = text.trimStart().startsWith(thinkOpen);
  if (!explicit && !opened) return { reasoning: null, rest: text };
  const close = text.indexOf(thinkClose);
  const start = explicit ? text.indexOf(thinkOpen) + thinkOpen.length : 0;
  const thought = trimNewlines(text.slice(start, close < 0 ? undefined : close));
  return {
    reasoning: thought.trim() === "" ? null : thought,
    rest: close < 0 ? "" : text.slice(close + thinkClose.length).replace(/^\n+/, ""),
  };
}

/** Thinking and answer as such models write them. */
export function joinReasoning(reasoning: string, rest: string): string {
  return `${thinkOpen}\n${reasoning}\n${thinkClose}\n\n${rest}`;
}

function trimNewlines(text: string): string {
  return text.replace(/^\n+/, "").replace(/\n+$/, "");
}
