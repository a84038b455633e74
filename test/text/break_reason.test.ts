import { describe, expect, it } from "vitest";
import type { ChatMessage, ChatRequest, RecordedCall } from "../../src/schema/chat.ts";
import type { ChatFormat } from "../../src/text/chat_format.ts";
import { chatmlTemplate } from "../../src/text/chatml.ts";
import { tools } from "./conversations.ts";
import { tinyFormat } from "./formats.ts";

const format = tinyFormat(chatmlTemplate);
const system = (content: string): ChatMessage => ({ role: "system", content });
const user = (content: string): ChatMessage => ({ role: "user", content });
const assistant = (content: string): ChatMessage => ({ role: "assistant", content });
const calls = (id: string, args = '{"x": 1}', name = "calculator"): ChatMessage => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name, arguments: args } }],
});
const result = (id: string, content: string): ChatMessage => ({ role: "tool", tool_call_id: id, content });

/** A recorded call: its prompt encoded after the calls before it, its reply written as the template writes it. */
function record(
  id: string,
  request: ChatRequest,
  reply: ChatMessage,
  before: readonly RecordedCall[] = [],
): RecordedCall {
  const promptIds = format.encodeRequest(request, before).ids;
  const call = reply.tool_calls?.[0]?.function;
  const text = call
    ? `<tool_call>\n{"name": "${call.name}", "arguments": ${call.arguments}}\n</tool_call>`
    : String(reply.content);
  return { id, request, reply, promptIds, replyIds: format.tokenizer.encode(`${text}<|im_end|>`) };
}

const outcome = (request: ChatRequest, recorded: readonly RecordedCall[], using: ChatFormat = format) => {
  const { parentCall, break: reason } = using.encodeRequest(request, recorded);
  return { parentCall, break: reason };
};

const root: ChatRequest = { messages: [system("s"), user("q")], tools };
const first = record("first", root, calls("call_1"));
const secondRequest: ChatRequest = { messages: [...root.messages, calls("call_1"), result("call_1", "2")], tools };
const second = record("second", secondRequest, assistant("It is two, as you can see."), [first]);
const recorded = [first, second];

describe("the recorded call that a request continues", () => {
  const asking = (messages: readonly ChatMessage[], change: Partial<ChatRequest> = {}): ChatRequest => ({
    messages,
    tools,
    ...change,
  });

  it("is none for the first request of an attempt, which is no break", () => {
    expect(outcome(root, [])).toEqual({ parentCall: null, break: null });
  });

  it("is none for the same request once more, which is no break", () => {
    expect(outcome(root, recorded)).toEqual({ parentCall: null, break: null });
    expect(outcome(secondRequest, recorded)).toEqual({ parentCall: "first", break: null });
    const again = format.encodeRequest(secondRequest, recorded);
    expect(Array.from(again.ids)).toEqual(Array.from(second.promptIds));
  });

  it("is the one with the longest conversation", () => {
    const messages = [...secondRequest.messages, second.reply as ChatMessage, user("and three?")];
    expect(outcome(asking(messages), recorded)).toEqual({ parentCall: "second", break: null });
    expect(outcome(asking(messages), [second, first])).toEqual({ parentCall: "second", break: null });
  });

  it("is found by call id whatever became of name and arguments", () => {
    for (const changed of [calls("call_1", "{}"), calls("call_1", '{"x":1}', "invalid"), calls("call_1", "{broken")]) {
      const messages = [...root.messages, changed, result("call_1", "2")];
      expect(outcome(asking(messages), [first])).toEqual({ parentCall: "first", break: null });
    }
  });

  it("is found by content where ids are replaced", () => {
    const messages = [...root.messages, calls("other", '{"x":1.0}'), result("other", "2")];
    expect(outcome(asking(messages), [first])).toEqual({ parentCall: "first", break: null });
    const different = [...root.messages, calls("other", '{"x": 2}'), result("other", "2")];
    expect(outcome(asking(different), [first])).toEqual({ parentCall: null, break: "edited" });
  });

  it("is found through all that agents do to messages", () => {
    const messages = [
      { role: "developer", content: [{ type: "text", text: "s", cache_control: { type: "ephemeral" } }] },
      { role: "user", content: [{ type: "input_text", text: "q" }], name: "someone" },
      { ...calls("call_1"), refusal: null, content: "" },
      { role: "tool", tool_call_id: "call_1", name: "calculator", content: [{ type: "text", text: "2" }] },
      { role: "assistant", content: [{ type: "text", text: " It is two, as you can see.\n", role: "assistant" }] },
      user("go on"),
    ] as ChatMessage[];
    const marked = tools.map((tool) => ({ cache_control: {}, ...tool }));
    expect(outcome(asking(messages, { tools: marked }), recorded)).toEqual({ parentCall: "second", break: null });
  });

  it("goes past a reply that the agent dropped", () => {
    const messages = [...secondRequest.messages, user("Error: no tool call.")];
    expect(outcome(asking(messages), recorded)).toEqual({ parentCall: "first", break: null });
  });

  it("is each sub-agent's own when they run at once", () => {
    const child: ChatRequest = { messages: [system("child"), user("task")], tools };
    const childFirst = record("child", child, calls("call_c"), recorded);
    const all = [first, childFirst, second];
    const childNext = [...child.messages, calls("call_c"), result("call_c", "x")];
    expect(outcome(asking(childNext), all)).toEqual({ parentCall: "child", break: null });
    const mainNext = [...secondRequest.messages, second.reply as ChatMessage, user("more")];
    expect(outcome(asking(mainNext), all)).toEqual({ parentCall: "second", break: null });
  });

  it("is, of two that say the same, the latest one whose tokens are known", () => {
    const twin = { ...first, id: "twin" };
    const silent = { ...first, id: "silent", promptIds: [], replyIds: [] };
    expect(outcome(secondRequest, [first, twin])).toEqual({ parentCall: "twin", break: null });
    expect(outcome(secondRequest, [first, silent])).toEqual({ parentCall: "first", break: null });
  });
});

describe("a break is", () => {
  const expectBreak = (request: ChatRequest, reason: string, calls_ = recorded) =>
    expect(outcome(request, calls_)).toEqual({ parentCall: null, break: reason });

  it("retokenised where the continued call has no tokens", () => {
    expectBreak(secondRequest, "retokenised", [{ ...first, promptIds: [], replyIds: [] }]);
  });

  it("edited where the system text, the tools, a result or the reply were changed", () => {
    const tail = [calls("call_1"), result("call_1", "2")];
    expectBreak({ messages: [system("another agent"), user("q"), ...tail], tools }, "edited");
    expectBreak({ messages: [...root.messages, ...tail], tools: [] }, "edited");
    const longer = [...secondRequest.messages.slice(0, 3), result("call_1", "unchanged"), second.reply as ChatMessage];
    const without = [{ ...second, request: { ...secondRequest } }];
    expectBreak({ messages: [...longer, user("more")], tools }, "edited", without);
    expectBreak({ messages: [...secondRequest.messages, assistant("It is three."), user("more")], tools }, "edited", [
      second,
    ]);
  });

  it("side where nothing but the system text is shared", () => {
    expectBreak({ messages: [system("You write titles."), user("q in other words")] }, "side");
    expectBreak({ messages: [system("s"), user("task of a sub-agent")], tools }, "side");
    expectBreak({ messages: [system("You judge."), user(`Is this right? ${second.reply?.content}`)] }, "side");
  });

  it("compaction where a summary is asked for without tools", () => {
    const messages = [...secondRequest.messages, user("CONTEXT CHECKPOINT COMPACTION: write a summary.")];
    expectBreak({ messages, tools: [] }, "compaction");
    const transcript = `Summarise:\nuser: q\nassistant: ${second.reply?.content}`;
    expectBreak({ messages: [system("You are a summariser."), user(transcript)] }, "compaction");
  });

  it("compaction where a summary takes the place of the conversation", () => {
    const summary = "The user asked q.\nThe calculator returned two and nothing is left to do.";
    const asked = { messages: [...secondRequest.messages, user("Summarise.")], tools };
    const all = [...recorded, record("summary", asked, assistant(summary), recorded)];
    expectBreak({ messages: [system("changed"), user(`So far: ${summary}`), user("go on")], tools }, "compaction", all);
    const asReply = [system("s"), user("What did we do so far?"), assistant(summary), user("Continue.")];
    expectBreak({ messages: asReply, tools }, "compaction", all);
  });

  it("unknown where nobody speaks", () => {
    expectBreak({ messages: [system("only this")] }, "unknown");
  });
});
