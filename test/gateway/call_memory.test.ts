/** What an attempt keeps of its calls: everything as it was, and shared. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallMemory, equalJson } from "../../gateway/calls/call_memory.ts";
import type { RecordedCall } from "../../src/schema/chat.ts";

function call(id: string, promptIds: number[], replyIds: number[], texts: string[]): RecordedCall {
  const messages = texts.map((content) => ({ role: "user" as const, content }));
  const tools = [{ type: "function" as const, function: { name: "f" } }];
  return { id, request: { messages, tools }, reply: { role: "assistant", content: id }, promptIds, replyIds };
}

const plain = ({ promptIds, replyIds, ...rest }: RecordedCall) => ({
  ...rest,
  promptIds: Array.from(promptIds),
  replyIds: Array.from(replyIds),
});

describe("call memory", () => {
  it("gives back random trees of calls as they were", () => {
    const node = fc.record({
      from: fc.nat({ max: 12 }),
      added: fc.array(fc.nat({ max: 9 }), { maxLength: 3 }),
      reply: fc.array(fc.nat({ max: 9 }), { maxLength: 3 }),
      isRoot: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(node, { maxLength: 15 }), (nodes) => {
        const memory = new CallMemory();
        const calls: RecordedCall[] = [];
        for (const [at, { from, added, reply, isRoot }] of nodes.entries()) {
          const parent = isRoot ? undefined : calls[from];
          const prefix = parent ? [...Array.from(parent.promptIds), ...Array.from(parent.replyIds)] : [];
          const texts = [...(parent?.request.messages ?? []).map((message) => String(message.content)), `m${at % 3}`];
          const one = call(`c${at}`, [...prefix, ...added], reply, texts);
          memory.add(one, parent?.id ?? null, prefix.length);
          calls.push(one);
        }
        expect(memory.calls.map(plain)).toEqual(calls.map(plain));
      }),
    );
  });

  it("keeps of a conversation what is new in each call, and of a branch what differs", () => {
    const memory = new CallMemory();
    memory.add(call("a", [1, 2], [3], ["x"]), null, 0);
    memory.add(call("b", [1, 2, 3, 4], [5], ["x", "y"]), "a", 3);
    memory.add(call("c", [1, 2, 3, 4, 5, 6], [7], ["x", "y", "z"]), "b", 5);
    const [a, b, c] = memory.calls;
    expect(c?.request.messages[0]).toBe(a?.request.messages[0]);
    expect(c?.request.messages[1]).toBe(b?.request.messages[1]);
    expect(c?.request.tools).toBe(a?.request.tools);
    expect(memory.size).toEqual({ calls: 3, ids: 7, messages: 3 });
    for (let branch = 0; branch < 100; branch++) {
      memory.add(call(`d${branch}`, [1, 2, 3, 4, 5, 8], [branch], ["x", "y", `z${branch}`]), "b", 5);
    }
    expect(memory.size).toEqual({ calls: 103, ids: 207, messages: 103 });
    expect(memory.get("d99")).toEqual(
      expect.objectContaining({ promptIds: Int32Array.of(1, 2, 3, 4, 5, 8), replyIds: Int32Array.of(99) }),
    );
    expect(memory.ofLength(3).map(({ id }) => id)).toEqual(["c", ...Array.from({ length: 100 }, (_, at) => `d${at}`)]);
    expect(memory.ofLength(9)).toEqual([]);
  });

  it("continues a part of a reply", () => {
    const memory = new CallMemory();
    memory.add(call("a", [1, 2], [3, 4, 5], ["x"]), null, 0);
    memory.add(call("b", [1, 2, 3, 9], [6], ["x", "y"]), "a", 3);
    expect(Array.from(memory.get("b")?.promptIds ?? [])).toEqual([1, 2, 3, 9]);
    expect(memory.size.ids).toBe(7);
  });

  it("forgets a reply that was not delivered", () => {
    const memory = new CallMemory();
    memory.add(call("a", [1], [2], ["x"]), null, 0);
    memory.forgetReply("a");
    memory.forgetReply("nobody");
    expect(memory.calls.map(plain)).toEqual([plain({ ...call("a", [1], [2], ["x"]), reply: null })]);
  });
});

describe("a call memory that is full", () => {
  const reply = (content: string) => ({ role: "assistant" as const, content });
  const filled = () => {
    const memory = new CallMemory(3);
    for (const id of ["a", "b", "c"]) memory.add(call(id, [1], [2], ["x"]), null, 0);
    return memory;
  };

  it("drops what was continued the longest ago, and knows by its reply that it was there", () => {
    const memory = filled();
    expect(memory.add(call("d", [1, 2, 3], [4], ["x", "y"]), "a", 2)).toEqual(["b"]);
    expect(memory.calls.map(({ id }) => id)).toEqual(["a", "c", "d"]);
    expect(memory.ofLength(1).map(({ id }) => id)).toEqual(["a", "c"]);
    expect([memory.get("b"), memory.hashOf("b", 2)]).toEqual([undefined, null]);
    expect(memory.mayHaveDropped(1, reply(" b "))).toBe(true);
    expect(memory.mayHaveDropped(2, reply("b"))).toBe(false);
    expect(memory.mayHaveDropped(1, reply("a"))).toBe(false);
    expect(memory.mayHaveDropped(1, { ...reply("else"), recorded_call: "b" })).toBe(true);
  });

  it("knows a dropped call by the id of a tool call, whatever else was made of its message", () => {
    const memory = new CallMemory(1);
    const tool_calls = [{ id: "t1", type: "function" as const, function: { name: "f", arguments: "{}" } }];
    memory.add({ ...call("a", [1], [2], ["x"]), reply: { ...reply(""), tool_calls } }, null, 0);
    memory.add(call("b", [1], [2], ["x"]), null, 0);
    expect(memory.mayHaveDropped(1, { ...reply("changed"), tool_calls })).toBe(true);
  });

  it("does not offer a dropped reply that was never delivered", () => {
    const memory = filled();
    memory.forgetReply("a");
    expect(memory.add(call("d", [1], [2], ["x"]), null, 0)).toEqual(["a"]);
    expect(memory.mayHaveDropped(1, reply("a"))).toBe(false);
  });

  it("keeps what is referred to by name", () => {
    const memory = new CallMemory(1);
    for (const id of ["a", "b", "c"]) expect(memory.add(call(id, [1], [2], ["x"]), null, 0, true)).toEqual([]);
    expect(memory.calls).toHaveLength(3);
  });

  it("goes on with the conversation of a call that it dropped", () => {
    const memory = filled();
    memory.add(call("d", [1, 2, 3], [4], ["x", "y"]), "c", 2);
    for (const id of ["e", "f", "g"]) memory.add(call(id, [1], [2], [id]), null, 0);
    memory.add(call("h", [1, 2, 3, 4, 5], [6], ["x", "y", "z"]), "d", 4);
    expect(plain(memory.get("h") as RecordedCall)).toEqual(plain(call("h", [1, 2, 3, 4, 5], [6], ["x", "y", "z"])));
  });
});

describe("equal JSON", () => {
  it("is decided by content", () => {
    const json = fc.jsonValue();
    fc.assert(fc.property(json, (value) => equalJson(value, structuredClone(value))));
    fc.assert(fc.property(json, json, (a, b) => !equalJson(a, b) || JSON.stringify(a) === JSON.stringify(b)));
    expect(equalJson({ a: 1 }, { a: 1, b: undefined })).toBe(false);
    expect(equalJson([1], { 0: 1 })).toBe(false);
    expect(equalJson(null, {})).toBe(false);
    expect(equalJson({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true);
  });
});
