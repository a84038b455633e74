import { describe, expect, it } from "vitest";
import type { ChatMessage } from "../../src/schema/chat.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { itShared } from "../shared.ts";
import { sharedTokenizerFiles } from "./formats.ts";
import { tinyTokenizerFiles } from "./tiny_tokenizer.ts";

const format = ChatFormat.load(tinyTokenizerFiles());
const id = (token: string) => format.tokenizer.idOf(token) as number;
const user = (content: string): ChatMessage => ({ role: "user", content });

describe("stop ids", () => {
  it("are the template's end of turn, the eos token and every eos id of the folder", () => {
    const files = tinyTokenizerFiles({
      tokenizerConfig: { eos_token: "<|endoftext|>" },
      generationConfig: { eos_token_id: [7, 8] },
      modelConfig: { eos_token_id: 8 },
    });
    expect(ChatFormat.load(files, { stopIds: [9] }).stopIds).toEqual([id("<|im_end|>"), 7, 8, id("<|endoftext|>"), 9]);
  });

  it("are none for a folder and a template that know none", () => {
    const template = "{% for m in messages %}{{ m.content }}\n{% endfor %}";
    const files = tinyTokenizerFiles({ tokenizerConfig: null, chatTemplates: { default: template } });
    expect(ChatFormat.load(files).stopIds).toEqual([]);
  });
});

describe("a parsed reply", () => {
  it("has its text without the stop token, its content and its calls", () => {
    const text = 'hm\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>';
    const ids = [...format.tokenizer.encode(text), id("<|im_end|>")];
    expect(format.parseReply(Int32Array.from(ids))).toEqual({
      content: "hm",
      reasoningContent: null,
      toolCalls: [{ name: "f", arguments: '{"a": 1}' }],
      text,
      stopId: id("<|im_end|>"),
    });
  });

  it("may be cut off, broken, or empty", () => {
    const [e1] = format.tokenizer.encode("é") as [number, number];
    const nothing = { content: "", reasoningContent: null, toolCalls: [], text: "", stopId: null };
    expect(format.parseReply([])).toEqual(nothing);
    expect(format.parseReply([id("<|im_end|>")])).toEqual({ ...nothing, stopId: id("<|im_end|>") });
    expect(format.parseReply([...format.tokenizer.encode("a"), e1])).toEqual({
      ...nothing,
      content: "a\ufffd",
      text: "a\ufffd",
    });
  });

  it("shows a stop token in the middle of the ids as text", () => {
    const ids = format.tokenizer.encode("a<|im_end|>b");
    expect(format.parseReply(ids)).toMatchObject({ content: "a<|im_end|>b", stopId: null });
  });

  it("begins in the thinking where the prompt ends in it, and the request can turn that off", () => {
    const template =
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" +
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% if think is not defined or think %}<think>\n{% endif %}{% endif %}";
    const thinking = ChatFormat.load(tinyTokenizerFiles({ chatTemplates: { default: template } }));
    const ids = thinking.tokenizer.encode("so\n</think>\n\nyes<|im_end|>");
    expect(thinking.parseReply(ids)).toMatchObject({ reasoningContent: "so", content: "yes" });
    const plain = thinking.tokenizer.encode("yes<|im_end|>");
    expect(thinking.parseReply(plain)).toMatchObject({ reasoningContent: "yes", content: null });
    expect(thinking.parseReply(plain, { think: false })).toMatchObject({ reasoningContent: null, content: "yes" });
  });
});

describe("a continuation in a template without an end-of-turn token", () => {
  const template =
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}";
  const plain = ChatFormat.load(tinyTokenizerFiles({ chatTemplates: { default: template } }));

  it("goes on from the reply's last id", () => {
    const request = { messages: [user("q")] };
    const promptIds = plain.encodeRequest(request, []).ids;
    const reply: ChatMessage = { role: "assistant", content: "a" };
    for (const stop of ["", "<|im_end|>"]) {
      const replyIds = plain.tokenizer.encode(`a${stop}`);
      const next = { messages: [user("q"), reply, user("r")] };
      const encoded = plain.encodeRequest(next, [{ id: "1", request, reply, promptIds, replyIds }]);
      expect(encoded.break).toBeNull();
      expect(plain.tokenizer.decode(encoded.ids)).toBe(`user: q\nassistant: a${stop}\nuser: r\nassistant: `);
    }
  });
});

describe("a continuation", () => {
  /** A call answered with `text`, and what the format makes of its conversation going on with "r". */
  function goOn(using: ChatFormat, text: string) {
    const request = { messages: [user("q")] };
    const promptIds = using.encodeRequest(request, []).ids;
    const replyIds = using.tokenizer.encode(text);
    const parsed = using.parseReply(replyIds);
    const reply: ChatMessage = {
      role: "assistant",
      content: parsed.content,
      tool_calls: parsed.toolCalls.map((call, i) => ({ id: `c${i}`, type: "function", function: call })),
    };
    const next = { messages: [user("q"), reply, user("r")] };
    const encoded = using.encodeRequest(next, [{ id: "1", request, reply, promptIds, replyIds }]);
    return { break: encoded.break, text: using.tokenizer.decode(encoded.ids) };
  }

  it("ends the turn of a reply that the template would write otherwise, where the reply was cut off", () => {
    const call = '<tool_call> {"name": "f","arguments":{}} </tool_call>';
    expect(goOn(format, call)).toEqual({
      break: null,
      text: `<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n${call}<|im_end|>\n<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\n`,
    });
  });

  it("breaks where the template writes the beginning of the prompt differently now", () => {
    const counting =
      "[{{ messages | length }}]{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" +
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    const using = ChatFormat.load(tinyTokenizerFiles({ chatTemplates: { default: counting } }));
    expect(goOn(using, "a<|im_end|>")).toMatchObject({ break: "template", text: expect.stringMatching(/^\[3\]/) });
  });
});

describe("formats of the shared data", () => {
  itShared("verl's digits: the characters and a separator", "assets/verl-arithmetic-sequence", (path) => {
    const verl = ChatFormat.load(sharedTokenizerFiles(path));
    expect(Array.from(verl.encodeRequest({ messages: [user("4,7:9,2")] }, []).ids)).toEqual([
      8, 14, 11, 15, 13, 14, 6, 0,
    ]);
    expect(verl.stopIds).toEqual([1]);
    expect(verl.parseReply([8, 14, 11, 1])).toMatchObject({ content: "4,7", stopId: 1 });
    const refused = { messages: [{ role: "assistant" as const, content: "4" }] };
    expect(() => verl.encodeRequest(refused, [])).toThrow(
      expect.objectContaining({
        code: "template_error",
        message:
          "The chat template refuses the messages: Conversation roles must alternate user/assistant/user/assistant/...",
      }),
    );
  });

  itShared("guppy: ChatML where the folder has no template", "assets/guppylm-chat", (path) => {
    const guppy = ChatFormat.load(sharedTokenizerFiles(path));
    expect(guppy.stopIds).toEqual([2]);
    const { ids } = guppy.encodeRequest({ messages: [user("hi guppy")] }, []);
    expect(ids[0]).toBe(1);
    expect(guppy.tokenizer.decode(ids)).toContain("<|im_start|>user");
  });

  itShared("stories260k: the answer keeps the space it begins with", "assets/stories260k/hf", (path) => {
    const stories = ChatFormat.load(sharedTokenizerFiles(path));
    expect(stories.stopIds).toEqual([2]);
    expect(stories.parseReply(stories.tokenizer.encode("dog")).content).toBe(" dog");
  });
});
