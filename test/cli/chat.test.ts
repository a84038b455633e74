// Plan: a conversation continues its own tokens, keeps nothing of a turn that failed, starts over on reset; the lines
// of a chat through a pipe and at a screen, as text and JSON; arguments.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { talk } from "../../src/cli/chat.ts";
import type { CommandContext } from "../../src/cli/command.ts";
import { Conversation, type ConversationOptions } from "../../src/cli/conversation.ts";
import { LeydenError } from "../../src/core/errors.ts";
import type { GenerateRequest, GenerateResult } from "../../src/schema/engine.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { runLeyden } from "./run_leyden.ts";

const calc = fileURLToPath(new URL("../../examples/calc/model", import.meta.url));
const json = (name: string) => JSON.parse(readFileSync(join(calc, name), "utf8"));
const codec = ChatFormat.load({
  name: "calc",
  tokenizer: json("tokenizer.json"),
  tokenizerConfig: json("tokenizer_config.json"),
  specialTokensMap: null,
  generationConfig: null,
  modelConfig: json("config.json"),
  chatTemplates: {},
});

/** An engine that says these texts in turn; one that begins with "!" it refuses with. */
function scripted(texts: readonly string[]) {
  const requests: GenerateRequest[] = [];
  const generate = async (request: GenerateRequest): Promise<GenerateResult> => {
    const text = texts[requests.length] ?? "";
    requests.push(request);
    if (text.startsWith("!")) throw new LeydenError("context_length_exceeded", text.slice(1), { do: "Shorten it." });
    const ids = Int32Array.from(codec.tokenizer.encode(text));
    return {
      id: request.id,
      ids,
      logprobs: new Float32Array(ids.length),
      versions: new Int32Array(ids.length),
      finishReason: text.endsWith("<|im_end|>") ? "stop" : "length",
      cachedTokens: 7,
      truncated: false,
    };
  };
  return { requests, generate };
}

function converse(texts: readonly string[], change: Partial<ConversationOptions> = {}) {
  const engine = scripted(texts);
  const sampling = { temperature: 0.5, topK: 0, topP: 1, minP: 0 };
  const conversation = new Conversation({ engine, codec, system: "", sampling, maxTokens: 9, seed: 1, ...change });
  const prompt = (i: number) => codec.tokenizer.decode(engine.requests[i]?.promptIds ?? []);
  return { conversation, prompt, requests: engine.requests };
}

const opening = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";

describe("conversation", () => {
  it("continues its own tokens and gives each reply its own draws", async () => {
    const { conversation, prompt, requests } = converse(["yes<|im_end|>", "7", "no<|im_end|>"], {
      system: "Be brief.",
    });
    const first = await conversation.say("hi");
    expect(first).toMatchObject({ finishReason: "stop", cachedTokens: 7, promptTokens: requests[0]?.promptIds.length });
    expect(first.replyTokens).toBe(codec.tokenizer.encode("yes<|im_end|>").length);
    expect(first.reply.content).toBe("yes");
    await conversation.say("2");
    await conversation.say("3");
    const start = `<|im_start|>system\nBe brief.<|im_end|>\n${opening}`;
    expect(prompt(0)).toBe(start);
    expect(prompt(1)).toBe(`${start}yes<|im_end|>\n<|im_start|>user\n2<|im_end|>\n<|im_start|>assistant\n`);
    // The second reply was cut, and the template closes its turn.
    expect(prompt(2)).toBe(`${prompt(1)}7<|im_end|>\n<|im_start|>user\n3<|im_end|>\n<|im_start|>assistant\n`);
    const drawn = [...(requests[0]?.promptIds ?? []), ...codec.tokenizer.encode("yes<|im_end|>")];
    expect([...(requests[1]?.promptIds ?? [])].slice(0, drawn.length)).toEqual(drawn);
    expect(new Set(requests.map(({ key }) => key.join())).size).toBe(3);
    expect(requests[0]).toMatchObject({ maxTokens: 9, stopIds: codec.stopIds, sampling: { temperature: 0.5 } });
  });

  it("is as before when a turn fails, and begins again on reset", async () => {
    const { conversation, prompt } = converse(["!too long", "yes<|im_end|>", "no<|im_end|>"]);
    await expect(conversation.say("2")).rejects.toThrow("too long");
    await conversation.say("hi");
    expect(prompt(1)).toBe(opening);
    conversation.reset();
    await conversation.say("hi");
    expect(prompt(2)).toBe(opening);
  });

  it("keeps what looks like a call of a tool as text, for no tool was offered", async () => {
    const text = '<tool_call>\n{"name": "x", "arguments": {}}\n</tool_call>';
    const { conversation, prompt } = converse([`${text}<|im_end|>`, "yes<|im_end|>"]);
    await conversation.say("hi");
    await conversation.say("2");
    expect(prompt(1)).toBe(`${opening}${text}<|im_end|>\n<|im_start|>user\n2<|im_end|>\n<|im_start|>assistant\n`);
  });
});

/** A chat over these lines; what it printed, in order. */
async function chat(lines: readonly string[], texts: readonly string[], shown: { json?: boolean; isScreen?: boolean }) {
  const printed: string[] = [];
  async function* input(): AsyncGenerator<string> {
    yield* lines;
  }
  const { conversation, requests } = converse(texts);
  const terminal = { isScreen: shown.isScreen === true, lines: input, out: (text: string) => void printed.push(text) };
  const context = {
    json: shown.json === true,
    platform: { terminal },
    print: (line: string) => void printed.push(`${line}\n`),
    printJson: (value: unknown) => void printed.push(`${JSON.stringify(value)}\n`),
    note: (line: string) => void printed.push(`note: ${line}\n`),
  } as unknown as CommandContext;
  return { code: await talk(context, conversation), printed, asked: requests.length };
}

describe("leyden chat", () => {
  it("answers line by line through a pipe", async () => {
    const { code, printed, asked } = await chat([" hi ", "", "2"], ["yes<|im_end|>", "a\u001b[2J"], {});
    expect({ code, asked }).toEqual({ code: 0, asked: 2 });
    expect(printed).toEqual([
      "yes\n",
      "a\\u001b[2J\n",
      "note: The reply was cut at the limit of --tokens or of the model's context.\n",
    ]);
  });

  it("asks at a screen, and ends on /quit", async () => {
    const { code, printed, asked } = await chat(["hi", "/rest", "/reset", "/quit", "2"], ["yes<|im_end|>"], {
      isScreen: true,
    });
    expect({ code, asked }).toEqual({ code: 0, asked: 1 });
    expect(printed).toEqual([
      "note: Type a message. /reset starts over, /quit ends.\n",
      "> ",
      "yes\n",
      "> ",
      'note: There is no /rest here. Did you mean "/reset"?\n',
      "> ",
      "> ",
    ]);
  });

  it("prints one line of JSON per message, errors included, and goes on after one", async () => {
    const { code, printed } = await chat(["2", "hi"], ["!No room.", "yes<|im_end|>"], { json: true, isScreen: true });
    expect(code).toBe(4);
    expect(printed.map((line) => JSON.parse(line))).toEqual([
      { error: { code: "context_length_exceeded", message: "No room.", do: "Shorten it." } },
      {
        reply: "yes",
        reasoning: null,
        finish_reason: "stop",
        prompt_tokens: codec.tokenizer.encode(opening).length,
        cached_tokens: 7,
        reply_tokens: codec.tokenizer.encode("yes<|im_end|>").length,
      },
    ]);
    const text = await chat(["2"], ["!No room."], {});
    expect(text.printed).toEqual(["note: error [context_length_exceeded]: No room. Shorten it.\n"]);
  });

  it("checks its arguments before it opens anything", async () => {
    for (const [args, expected] of [
      [[], "error [usage]: --model is missing.\nPass --model VALUE.\n"],
      [
        ["--model", calc, "--temprature", "1"],
        'leyden chat has no option --temprature.\nDid you mean "--temperature"?\n',
      ],
      [["--model", calc, "--tokens", "0"], "error [usage]: --tokens is 0, below 1.\n"],
      [["--model", `${calc}/nowhere`], "error [file_missing]: There is no "],
    ] as const) {
      const { code, err } = await runLeyden(["chat", ...args]);
      expect({ code, err }).toEqual({ code: 4, err: expect.stringContaining(expected) });
    }
  });
});
