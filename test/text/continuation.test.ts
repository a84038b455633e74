import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChatMessage } from "../../src/schema/chat.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { chatmlTemplate } from "../../src/text/chatml.ts";
import { itShared, sharedPath } from "../shared.ts";
import {
  carelessReplay,
  inPythonSpacing,
  type PlayedCall,
  plainText,
  play,
  type Replay,
  type Script,
  scripts,
  temptingText,
} from "./conversations.ts";
import { calcTemplate, sharedTemplate, sharedTokenizerFiles, tinyFormat } from "./formats.ts";

const faithful: Replay = (reply: ChatMessage) => reply;

/** Every call but the first continues the one before it, token by token. */
function expectVerbatim(played: readonly PlayedCall[]): void {
  for (const [i, call] of played.entries()) {
    const before = played[i - 1];
    expect(call.break).toBeNull();
    expect(call.parent).toBe(before?.id ?? null);
    if (!before) continue;
    const prefix = [...Array.from(before.promptIds), ...Array.from(before.replyIds)];
    expect(call.prefixLength).toBe(prefix.length);
    expect(Array.from(call.promptIds).slice(0, prefix.length)).toEqual(prefix);
  }
}

/** The ids are those of the whole conversation rendered at once. */
function expectWhole(format: ChatFormat, played: readonly PlayedCall[]): void {
  for (const call of played) {
    const whole = format.encodeRequest(call.request, []);
    expect(format.tokenizer.decode(call.promptIds)).toBe(format.tokenizer.decode(whole.ids));
    expect(Array.from(call.promptIds)).toEqual(Array.from(whole.ids));
  }
}

function holds(
  format: ChatFormat,
  script: fc.Arbitrary<Script>,
  replay: Replay,
  whole: boolean,
  numRuns = whole ? 40 : 100,
): void {
  fc.assert(
    fc.property(script, (conversation) => {
      const played = play(format, conversation, replay);
      expectVerbatim(played);
      if (whole) expectWhole(format, played);
    }),
    { numRuns },
  );
}

const ended = { thinking: false, ended: true };

describe.each([
  ["ChatML", chatmlTemplate],
  ["the calculator template", calcTemplate],
])("continuation with %s", (_name, template) => {
  const format = tinyFormat(template);

  it("has prompt and reply of the call before as its exact beginning", () => {
    holds(format, scripts(plainText, { thinking: false }), carelessReplay, false);
    holds(format, scripts(temptingText, { thinking: false }), carelessReplay, false, 30);
  });

  it("gives the ids of the whole conversation where the reply was written as the template writes it", () => {
    const spaced = scripts(plainText, ended).map(inPythonSpacing);
    holds(format, spaced, faithful, true);
  });

  it("writes no control token for a text that spells one", () => {
    const harmless = (message: ChatMessage) => (message.role === "assistant" ? message : { ...message, content: "x" });
    const control = (ids: ArrayLike<number>) => Array.from(ids).filter((id) => controlIds.has(id));
    const controlIds = new Set(format.tokenizer.addedTokens.map((token) => token.id));
    const tempting = scripts(temptingText, ended).map(inPythonSpacing);
    fc.assert(
      fc.property(tempting, (script) => {
        for (const call of play(format, script, faithful)) {
          const clean = { ...call.request, messages: call.request.messages.map(harmless) };
          expect(control(call.promptIds)).toEqual(control(format.encodeRequest(clean, []).ids));
        }
      }),
      { numRuns: 40 },
    );
  });

  it("closes a turn that ran into the token limit", () => {
    const cut = scripts(plainText, { thinking: false, ended: false }).map((script) => ({
      ...script,
      turns: script.turns.map((turn) => ({ ...turn, calls: [] })),
    }));
    holds(format, cut, faithful, true);
  });
});

describe("continuation with ChatML and thinking", () => {
  const format = tinyFormat(chatmlTemplate);

  it("keeps the thinking that agents drop", () => {
    holds(format, scripts(plainText, { thinking: true }), carelessReplay, false);
  });

  it("closes thinking that ran into the token limit", () => {
    const [first, second] = play(
      format,
      {
        system: "s",
        question: "q",
        tools: false,
        turns: [{ thinking: "hm", text: "", calls: [], ended: false, results: [], user: "u" }],
      },
      faithful,
    );
    const cut = format.tokenizer.encode("<think>\nhm");
    const reply = { role: "assistant" as const, content: null, reasoning_content: "hm" };
    const recorded = { ...(first as PlayedCall), replyIds: cut, reply };
    const request = { ...(second as PlayedCall).request };
    const messages = request.messages.map((m) => (m.role === "assistant" ? reply : m));
    const encoded = format.encodeRequest({ ...request, messages }, [recorded]);
    expect(encoded.parentCall).toBe(recorded.id);
    expect(format.tokenizer.decode(encoded.ids)).toBe(
      "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n<think>\nhm\n</think>\n\n<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\n",
    );
  });
});

describe("continuation with Qwen's templates", () => {
  itShared(
    "is verbatim over tool calls, with the tiny and the calculator's tokenizer",
    "assets/chat-templates",
    (folder) => {
      for (const name of ["qwen2.5", "qwen3"] as const) {
        const template = sharedTemplate(folder, name);
        const files = sharedTokenizerFiles(sharedPath("bench/recipes/calc_tok.json"), {
          chatTemplates: { default: template },
        });
        for (const format of [tinyFormat(template), ChatFormat.load(files)]) {
          holds(format, scripts(plainText, { thinking: false }), carelessReplay, false);
          holds(format, scripts(temptingText, { thinking: false }), carelessReplay, false, 30);
        }
      }
    },
  );

  itShared("equals the whole conversation's ids", "assets/chat-templates", (folder) => {
    for (const name of ["qwen2.5", "qwen3"] as const) {
      const plain = scripts(plainText, ended).map(inPythonSpacing);
      holds(tinyFormat(sharedTemplate(folder, name)), plain, faithful, true);
    }
  });

  itShared(
    "keeps Qwen3's thinking while tools are called, breaks where the template drops it",
    "assets/chat-templates",
    (folder) => {
      const template = sharedTemplate(folder, "qwen3");
      const turn = { thinking: "hm", text: "x", ended: true, results: ["r"], user: null };
      const calls = [{ name: "f", arguments: "{}" }];
      const script = {
        system: "s",
        question: "q",
        tools: true,
        turns: [
          { ...turn, calls },
          { ...turn, calls: [], user: "again" },
          { ...turn, calls },
        ],
      };
      for (const replay of [faithful, carelessReplay]) {
        const played = play(tinyFormat(template), script, replay);
        expect(played.map((call) => call.break)).toEqual([null, null, "template", null]);
        expect(played.map((call) => call.parent)).toEqual([null, "call-0", null, "call-2"]);
      }
      const kept = play(tinyFormat(template, { history: "verbatim" }), script, carelessReplay);
      expectVerbatim(kept);
    },
  );

  itShared(
    "breaks where the prompt holds an empty thought that the history does not",
    "assets/chat-templates",
    (folder) => {
      const template = sharedTemplate(folder, "qwen3");
      const calls = [{ name: "f", arguments: "{}" }];
      const turns = [{ thinking: null, text: "", calls, ended: true, results: ["r"], user: null }];
      const script = { system: "s", question: "q", tools: true, turns };
      const played = play(tinyFormat(template), script, faithful, { enable_thinking: false });
      expect(played.map((call) => call.break)).toEqual([null, "template"]);
      expectVerbatim(play(tinyFormat(template, { history: "verbatim" }), script, faithful, { enable_thinking: false }));
    },
  );
});
