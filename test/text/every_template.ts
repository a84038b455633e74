import fc from "fast-check";
import { expect } from "vitest";
import type { ChatMessage } from "../../src/schema/chat.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { parseReplyText } from "../../src/text/reply_parser.ts";
import {
  inPythonSpacing,
  type PlayedCall,
  plainText,
  play,
  type Script,
  scripts,
  type Turn,
  temptingText,
} from "./conversations.ts";
import { publishedTemplates } from "./published_templates.ts";
import { tinyTokenizerFiles } from "./tiny_tokenizer.ts";

const special = /<\|[^|<>\s]+\|>|<｜[^｜<>\s]+｜>|\[\/?[A-Z_]{3,}\]|<\/?(?:start|end)_of_turn>|<\/?s>/g;

/** A chat format over the tiny tokenizer, with the tokens that a published template writes. */
function publishedFormat(template: string): ChatFormat {
  const files = tinyTokenizerFiles({ chatTemplates: { default: template } });
  const added = files.tokenizer.added_tokens as { id: number; content: string }[];
  const known = new Set(added.map((token) => token.content));
  const found = [...new Set([...(template.match(special) ?? []), "<s>", "</s>"])].filter((text) => !known.has(text));
  const first = Math.max(...added.map((token) => token.id)) + 1;
  const more = found.map((content, i) => ({ ...added[0], id: first + i, content, normalized: false, special: true }));
  const tokenizer = { ...files.tokenizer, added_tokens: [...added, ...more] };
  return ChatFormat.load(
    { ...files, tokenizer },
    {
      variables: { bos_token: "<s>", eos_token: "</s>" },
      date: new Date(Date.UTC(2026, 2, 5)),
    },
  );
}

/** What a template made of one conversation. */
export type Outcome = "verbatim" | "break" | "refused";

/**
 * Plays a conversation whose replies the model writes in its own format. Every call after the first continues the one
 * before it, token by token, or says why not; what is shown is what exactly the sampled ids spell; and no text spells a
 * special token.
 */
function playPublished(format: ChatFormat, script: Script): Outcome {
  const sampled = (turn: Turn | null) => {
    const toolCalls = script.tools ? (turn?.calls ?? []) : [];
    const ids = format.encodeReply({ content: turn?.text ?? "done", reasoningContent: null, toolCalls });
    return ids.subarray(0, ids.length - Math.min(1, format.stopIds.length));
  };
  let played: PlayedCall[];
  try {
    played = play(format, inPythonSpacing(script), (reply: ChatMessage) => reply, undefined, sampled);
  } catch (thrown) {
    expect(thrown).toMatchObject({ code: "template_error" });
    return "refused";
  }
  for (const [i, call] of played.entries()) {
    expect(call.break).not.toBe("unknown");
    expectShown(format, call);
    expectNoSpecialText(format, call);
    if (i > 0 && call.break === null) expectVerbatim(call, played[i - 1] as PlayedCall);
  }
  return played.some((call) => call.break !== null) ? "break" : "verbatim";
}

function expectVerbatim(call: PlayedCall, before: PlayedCall): void {
  expect(call.parent).toBe(before.id);
  const prefix = [...Array.from(before.promptIds), ...Array.from(before.replyIds)];
  expect(Array.from(call.promptIds).slice(0, prefix.length)).toEqual(prefix);
}

/** What was shown is what exactly the sampled ids spell. */
function expectShown(format: ChatFormat, call: PlayedCall): void {
  const opened = format.thinkingEnd() !== null;
  const { text } = format.parseReply(call.replyIds, undefined, call.request.tools);
  const shown = parseReplyText(text, format.template.toolCallFormat, opened, call.request.tools);
  const { reply } = call;
  if (reply?.reasoning_content == null) expect((shown.content ?? "").trim()).toBe(String(reply?.content ?? "").trim());
  expect(shown.toolCalls.map((found) => found.arguments)).toEqual(
    (reply?.tool_calls ?? []).map((found) => found.function.arguments),
  );
}

/** The prompt has the special tokens that it would have if agents and users wrote nothing of note. */
function expectNoSpecialText(format: ChatFormat, call: PlayedCall): void {
  const quiet = (message: ChatMessage) => (message.role === "assistant" ? message : { ...message, content: "x" });
  const special = (ids: ArrayLike<number>) => Array.from(ids).filter((id) => format.tokenizer.isSpecial(id));
  const clean = { ...call.request, messages: call.request.messages.map(quiet) };
  const whole = format.encodeRequest(call.request, []);
  expect(special(whole.ids)).toEqual(special(format.encodeRequest(clean, []).ids));
}

/** What became of conversations in every published template. */
export interface Survey {
  counts: Record<Outcome, number>;
  /** Templates that refused one. */
  refusing: string[];
}

/** Plays `runs` conversations of plain and of tempting texts each in every published template, the same each time. */
export function surveyTemplates(runs: number): Survey {
  const survey: Survey = { counts: { verbatim: 0, break: 0, refused: 0 }, refusing: [] };
  for (const [hash, template] of publishedTemplates) {
    const format = publishedFormat(template);
    for (const text of [plainText, temptingText]) {
      const check = (script: Script) => {
        const outcome = playPublished(format, script);
        survey.counts[outcome]++;
        if (outcome === "refused" && !survey.refusing.includes(hash)) survey.refusing.push(hash);
      };
      const script = scripts(text, { thinking: false, ended: true });
      fc.assert(fc.property(script, check), { numRuns: runs, seed: 20261129 });
    }
  }
  return survey;
}
