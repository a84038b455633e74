import { describe, expect, it } from "vitest";
import type { ChatMessage, ChatRequest } from "../../src/schema/chat.ts";
import { ChatTemplate } from "../../src/text/chat_template.ts";
import { CarriedNumbers } from "../../src/text/python_json.ts";

const user: ChatMessage = { role: "user", content: "u" };
const called = (args: string): ChatMessage => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: args } }],
});

const of = (source: string) => new ChatTemplate({ default: source });

function render(template: ChatTemplate, request: ChatRequest): string {
  const preparation = { mark: (text: string) => text, numbers: new CarriedNumbers("\ufdd0") };
  return template.render(request, { generationPrompt: false, preparation });
}

describe("what a template does not know", () => {
  const weather = { type: "function" as const, function: { name: "weather", description: "Tells.", parameters: {} } };
  const result: ChatMessage = { role: "tool", tool_call_id: "c1", content: "r" };
  const system: ChatMessage = { role: "system", content: "s" };
  const answer: ChatMessage = { role: "assistant", content: "a" };
  const turns = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}";

  it("of tools is told in words, calls as plain text", () => {
    const template = of(turns);
    expect(template.capabilities(true)).toEqual({
      system: true,
      tools: false,
      toolCalls: false,
      severalCalls: false,
      toolResults: true,
      alternating: false,
    });
    const request = { messages: [user, called('{"n": 1}'), result], tools: [weather] };
    expect(render(template, request)).toBe(
      '[system] You can call these functions:\n{"name":"weather","description":"Tells.","parameters":{}}\n\n' +
        "To call one, write\nAction: NAME\nAction Input: {...}\nand wait for what it answers.\n" +
        '[user] u\n[assistant] \nAction: f\nAction Input: {"n": 1}\n[tool] r\n',
    );
    const deaf = of(turns.replace("{{ m.content }}", "{{ m.content if m.role != 'tool' else '' }}"));
    expect(render(deaf, { messages: [user, called("{}"), result] })).toContain("[user] Observation of f: r\n");
  });

  it("of system texts opens the first turn of the user", () => {
    const refusing = of(`{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}${turns}`);
    expect(render(refusing, { messages: [system, user, answer] })).toBe("[user] s\n\nu\n[assistant] a\n");
    expect(render(refusing, { messages: [system, answer] })).toBe("[user] s\n[assistant] a\n");
    const dropping = of(turns.replace("[{{", "{% if m.role == 'system' %}{% continue %}{% endif %}[{{"));
    expect(render(dropping, { messages: [system, user] })).toBe("[user] s\n\nu\n");
  });

  it("of neighbours of one role makes them one message", () => {
    const strict = of(
      `{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}{% endfor %}${turns}`,
    );
    expect(render(strict, { messages: [user, user, answer, answer, user] })).toBe(
      "[user] u\n\nu\n[assistant] a\n\na\n[user] u\n",
    );
  });

  it("of long call ids gets nine letters and digits", () => {
    const nine = of(
      `${turns}{% for m in messages %}{% for c in m.tool_calls or [] %}{% if c.id|length != 9 %}{{ raise_exception('nine') }}{% endif %}{{ c.function.name }}{{ c.id }}{{ c.function.arguments }}{% endfor %}{% endfor %}`,
    );
    const ids = ["call_abcDEF123456", "c1", "abcdefghi"].map((id) => {
      const call = { id, type: "function" as const, function: { name: "f", arguments: "{}" } };
      return /f(\w{9})\{\}/.exec(render(nine, { messages: [user, { role: "assistant", tool_calls: [call] }] }))?.[1];
    });
    expect(ids).toEqual(["DEF123456", "0000000c1", "abcdefghi"]);
  });

  it("of several calls a turn makes them turns, each with its results, and loses none", () => {
    const single = of(
      `{% for m in messages %}{% if m.tool_calls and m.tool_calls|length != 1 %}{{ raise_exception('one') }}{% endif %}[{{ m.role }}] {{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments }}{% endfor %} {% endfor %}`,
    );
    const calls = ["a", "b"].map((id) => ({ id, type: "function" as const, function: { name: id, arguments: "{}" } }));
    const result = (id: string, content: string): ChatMessage => ({ role: "tool", tool_call_id: id, content });
    const messages: ChatMessage[] = [
      user,
      { role: "assistant", content: "t", tool_calls: calls },
      ...[result("b", "1"), result("a", "2"), result("a", "3"), result("z", "4")],
      user,
      result("a", "5"),
    ];
    expect(render(single, { messages })).toBe(
      "[user] u [assistant] ta{} [tool] 2 [tool] 3 [assistant] b{} [tool] 1 [tool] 4 [user] u [tool] 5 ",
    );
  });

  it("of empty contents beside calls gets none", () => {
    const none = of(
      "{% for m in messages %}{% if m.content is none %}{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments }}{% endfor %}{% else %}{{ m.content }}{% endif %}{% endfor %}",
    );
    expect(render(none, { messages: [user, called("{}")] })).toBe("uf{}");
  });
});
