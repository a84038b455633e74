/** The increment by one render, in the usual case, is the one that is found with a placeholder. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChatMessage, ChatRequest } from "../../src/schema/chat.ts";
import type { ChatFormat } from "../../src/text/chat_format.ts";
import { chatmlTemplate } from "../../src/text/chatml.ts";
import { findContinuation } from "../../src/text/continuation.ts";
import { GuardedEncoder } from "../../src/text/guarded_encoder.ts";
import { findIncrement } from "../../src/text/increment.ts";
import { chooseMarks } from "../../src/text/marks.ts";
import { plainIncrement } from "../../src/text/plain_increment.ts";
import { PromptText, PromptTexts } from "../../src/text/prompt_texts.ts";
import { CarriedNumbers } from "../../src/text/python_json.ts";
import { thinkClose, thinkOpen } from "../../src/text/reasoning.ts";
import { parseReplyText } from "../../src/text/reply_parser.ts";
import { type PlayedCall, plainText, play, type Script, scripts, temptingText } from "./conversations.ts";
import { calcTemplate, tinyFormat } from "./formats.ts";
import { publishedTemplates } from "./published_templates.ts";

interface Both {
  plain: ReturnType<typeof plainIncrement>;
  marked: ReturnType<typeof findIncrement>;
}

/** Both increments of a call that continues the one before it. */
function increments(format: ChatFormat, call: PlayedCall, before: PlayedCall): Both | null {
  const found = findContinuation(call.request, [before]);
  if (!found) return null;
  const { template, tokenizer } = format;
  const calls = template.toolCallFormat;
  const encoder = new GuardedEncoder(tokenizer, [template.source, thinkOpen, thinkClose, ...calls.markup]);
  const marks = chooseMarks([call.request, before.request, found.reply]);
  const opened = format.thinkingEnd() !== null;
  const parse = (text: string) => parseReplyText(text, calls, opened, before.request.tools);
  const render = (request: ChatRequest): string | null => {
    let isMarked = false;
    const mark = (text: string) => {
      const marked = encoder.mark(text, marks.lookalike);
      if (marked !== text) isMarked = true;
      return marked;
    };
    const preparation = { mark, numbers: new CarriedNumbers(marks.number) };
    const text = template.render(request, { generationPrompt: true, preparation });
    return isMarked ? null : text;
  };
  const promptText = (request: ChatRequest) => {
    const text = render(request);
    return text === null ? null : new PromptText(null, text);
  };
  const context = { template, encoder, marks, stopIds: new Set(format.stopIds), parse };
  return {
    plain: plainIncrement({ ...context, plainText: render, promptText }, call.request, found),
    marked: findIncrement(context, call.request, found),
  };
}

/** How often the one render sufficed, of how many continuations. */
function compare(format: ChatFormat, script: Script): { plain: number; all: number } {
  const count = { plain: 0, all: 0 };
  let played: PlayedCall[];
  try {
    played = play(format, script, (reply: ChatMessage) => reply);
  } catch {
    // The template refuses such a conversation.
    return count;
  }
  for (const [at, call] of played.entries()) {
    const both = at > 0 ? increments(format, call, played[at - 1] as PlayedCall) : null;
    if (!both) continue;
    count.all++;
    if (!both.plain) continue;
    count.plain++;
    expect(both.plain.increment).toEqual(both.marked);
  }
  return count;
}

describe("an increment by one render", () => {
  it.each([
    ["ChatML", chatmlTemplate],
    ["the calculator template", calcTemplate],
  ])("is the increment in %s, and suffices for plain texts", (_name, template) => {
    const format = tinyFormat(template);
    const count = { plain: 0, all: 0 };
    const check = (script: Script) => {
      const { plain, all } = compare(format, script);
      count.plain += plain;
      count.all += all;
    };
    fc.assert(fc.property(scripts(plainText, { thinking: false }), check), { numRuns: 40, seed: 5 });
    expect(count.plain).toBeGreaterThan(count.all / 2);
    fc.assert(fc.property(scripts(temptingText, { thinking: false }), check), { numRuns: 40, seed: 5 });
  });

  it("is the increment in published templates where it is one at all", () => {
    let plain = 0;
    for (const [, template] of [...publishedTemplates].filter((_, at) => at % 4 === 0)) {
      const format = tinyFormat(template);
      for (const text of [plainText, temptingText]) {
        const script = scripts(text, { thinking: false, ended: true });
        const check = (one: Script) => {
          plain += compare(format, one).plain;
        };
        fc.assert(fc.property(script, check), { numRuns: 1, seed: 7 });
      }
    }
    expect(plain).toBeGreaterThan(12);
  });
});

describe("texts of prompts", () => {
  const user = (content: string): ChatMessage => ({ role: "user", content });
  const last = user("last");
  const request = { messages: [user("first"), last] };

  const text = new PromptText(null, "text");

  it("are had again for a request that is the same to a template", () => {
    const texts = new PromptTexts();
    texts.set(request, text);
    expect(texts.get(request)).toBe(text);
    expect(texts.get({ messages: [{ role: "user", content: [{ type: "text", text: "first" }] }, last] })).toBe(text);
    expect(texts.get({ messages: [user("other"), last] })).toBeUndefined();
    expect(texts.get({ messages: [user("first"), user("last")] })).toBeUndefined();
    expect(texts.get({ messages: [last] })).toBeUndefined();
    expect(texts.get({ ...request, templateArgs: { a: 1 } })).toBeUndefined();
    expect(texts.get({ ...request, tools: [{ type: "function", function: { name: "f" } }] })).toBeUndefined();
  });

  it("are as many as there is room for, the last used ones", () => {
    const texts = new PromptTexts(2100);
    const requests = [0, 1, 2].map((at) => ({ messages: [user(String(at))] }));
    for (const one of requests.slice(0, 2)) texts.set(one, text);
    texts.get(requests[0] as ChatRequest);
    texts.set(requests[2] as ChatRequest, text);
    expect(requests.map((one) => texts.get(one))).toEqual([text, undefined, text]);
  });

  it("go on from one another, each with what is its own", () => {
    let whole = "begin";
    let going = new PromptText(null, whole);
    for (let turn = 0; turn < 150; turn++) {
      const before = going;
      going = new PromptText(going, `<${turn}>`);
      whole += `<${turn}>`;
      expect([String(going), going.length]).toEqual([whole, whole.length]);
      expect([before, going].map((one) => one.begins(`${whole} and on`))).toEqual([true, true]);
      expect([going.begins(whole.slice(0, -1)), going.begins(`x${whole.slice(1)}`)]).toEqual([false, false]);
    }
    expect(going.ownLength).toBeLessThan(whole.length / 2);
    expect(new PromptText(null, "").begins("")).toBe(true);
  });

  it("of a list of messages that grew are another's", () => {
    const texts = new PromptTexts();
    const messages = [last];
    texts.set({ messages }, text);
    messages.unshift(user("earlier"));
    expect(texts.get({ messages })).toBeUndefined();
  });
});
