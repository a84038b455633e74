import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ChatMessage, ChatRequest } from "../../src/schema/chat.ts";
import { ChatTemplate } from "../../src/text/chat_template.ts";
import { chatmlTemplate } from "../../src/text/chatml.ts";
import { CarriedNumbers, pythonFloat } from "../../src/text/python_json.ts";
import { strftime } from "../../src/text/strftime.ts";
import { itShared } from "../shared.ts";
import { tinyTokenizerFiles } from "./tiny_tokenizer.ts";

const user: ChatMessage = { role: "user", content: "u" };
const called = (args: string): ChatMessage => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: args } }],
});

function render(template: ChatTemplate, request: ChatRequest, generationPrompt = false): string {
  const preparation = { mark: (text: string) => text, numbers: new CarriedNumbers("\ufdd0") };
  return template.render(request, { generationPrompt, preparation });
}

const of = (source: string, options = {}) => new ChatTemplate({ default: source }, options);

describe("golden renders", () => {
  itShared("are what Python's Jinja2 gives, byte for byte", "assets/chat-templates", (folder) => {
    const golden = JSON.parse(readFileSync(join(folder, "golden_renders.json"), "utf8")) as {
      conversations: Record<string, Record<string, unknown>>;
      renders: Record<string, Record<string, string>>;
    };
    let compared = 0;
    for (const [name, renders] of Object.entries(golden.renders)) {
      const source = readFileSync(join(folder, `${name}.jinja`), "utf8");
      for (const variant of [source, source.replaceAll("\n", "\r\n")]) {
        const template = of(variant, { variables: { bos_token: "<BOS>", eos_token: "<EOS>" } });
        for (const [conversation, expected] of Object.entries(renders)) {
          const variables = golden.conversations[conversation] as Record<string, unknown>;
          expect(template.renderVariables(variables)).toBe(expected);
          compared++;
        }
      }
    }
    expect(compared).toBe(20);
  });

  itShared("are the same from a request in OpenAI's form", "assets/chat-templates", (folder) => {
    const golden = JSON.parse(readFileSync(join(folder, "golden_renders.json"), "utf8")) as {
      conversations: { toolresult: { messages: ChatMessage[]; tools: ChatRequest["tools"] } };
      renders: Record<string, { toolresult: string }>;
    };
    const { messages, tools } = golden.conversations.toolresult;
    const asText = messages.map((message) => ({
      ...message,
      tool_calls: message.tool_calls?.map((call) => ({
        ...call,
        function: { name: call.function.name, arguments: '{"expression": "6*7", "k": [1, 2.5, true, null]}' },
      })),
    }));
    for (const name of ["qwen2.5", "qwen3"]) {
      const template = of(readFileSync(join(folder, `${name}.jinja`), "utf8"));
      expect(render(template, { messages: asText, tools }, true)).toBe(golden.renders[name]?.toolresult);
    }
  });
});

describe("templates of a folder", () => {
  const load = (chat_template: unknown, chatTemplates = {}) =>
    ChatTemplate.load(tinyTokenizerFiles({ tokenizerConfig: { chat_template }, chatTemplates }));

  it("come from chat_template.jinja before tokenizer_config.json, and are ChatML where there is none", () => {
    const request = { messages: [user] };
    expect(render(load("config", { default: "file" }), request)).toBe("file");
    expect(render(load("config"), request)).toBe("config");
    expect(render(load(undefined), request)).toBe("<|im_start|>user\nu<|im_end|>\n");
  });

  it("may be several by name: tool_use serves requests with tools", () => {
    const template = load([
      { name: "default", template: "plain" },
      { name: "tool_use", template: "tools" },
    ]);
    const tools = [{ type: "function" as const, function: { name: "f" } }];
    expect(render(template, { messages: [user] })).toBe("plain");
    expect(render(template, { messages: [user], tools })).toBe("tools");
    expect(render(load([{ name: "only", template: "this" }]), { messages: [user] })).toBe("this");
  });
});

describe("a request in a template", () => {
  it("has arguments as an object where the template serialises them, as text where it writes them", () => {
    const asObject = of(
      "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}",
    );
    expect(render(asObject, { messages: [user, called('{"a":1,  "b":"x"}')] })).toBe('{"a": 1, "b": "x"}');
    const asText = of(
      "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments }}{% endfor %}{% endfor %}",
    );
    expect(render(asText, { messages: [user, called('{"a":1,  "b":"x"}')] })).toBe('{"a":1,  "b":"x"}');
    expect(render(asObject, { messages: [user, called("{broken")] })).toBe('"{broken"');
    expect(render(asObject, { messages: [user, called("")] })).toBe("{}");
  });

  it("keeps numbers as Python writes them", () => {
    const template = of(
      "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}{{ tools | tojson if tools else '' }}",
    );
    const args = '{"a": 1.0, "b": 1e3, "c": 12345678901234567890123, "d": -0, "e": 1e-5, "f": 2.50, "g": [1, 0.1]}';
    expect(render(template, { messages: [user, called(args)] })).toBe(
      '{"a": 1.0, "b": 1000.0, "c": 12345678901234567890123, "d": 0, "e": 1e-05, "f": 2.5, "g": [1, 0.1]}',
    );
    const tools = [{ type: "function" as const, function: { name: "f", parameters: { minimum: 1e-7, maximum: 3 } } }];
    expect(render(template, { messages: [user], tools })).toBe(
      '[{"type": "function", "function": {"name": "f", "parameters": {"minimum": 1e-07, "maximum": 3}}}]',
    );
  });

  it("has tools with every key but cache marks", () => {
    const template = of("{{ tools | tojson }}");
    const marked = { cache_control: {}, type: "function", function: { name: "f", strict: false, cache_control: {} } };
    const tools = [marked] as unknown as ChatRequest["tools"];
    expect(render(template, { messages: [user], tools })).toBe(
      '[{"type": "function", "function": {"name": "f", "strict": false}}]',
    );
  });

  it("has a developer as system unless the template knows the role", () => {
    const roles = "{% for m in messages %}{{ m.role }} {% endfor %}";
    const request: ChatRequest = { messages: [{ role: "developer", content: "d" }, user] };
    expect(render(of(roles), request)).toBe("system user ");
    expect(render(of(`${roles}{# developer #}`), request)).toBe("developer user ");
  });

  it("has content as parts where the template walks through it", () => {
    const walks = of(
      "{% for m in messages %}{% for p in m.content %}{{ p.type }}:{{ p.text }};{% endfor %}{% endfor %}",
    );
    const parts = [
      { type: "text", text: "a", cache_control: {} },
      { type: "input_text", text: "b" },
    ];
    expect(render(walks, { messages: [{ role: "user", content: "x" }] })).toBe("text:x;");
    expect(render(walks, { messages: [{ role: "user", content: parts }] })).toBe("text:a\nb;");
  });

  it("refuses a part that is no text", () => {
    const content = [{ type: "image_url" }];
    expect(() => render(of("{{ messages }}"), { messages: [{ role: "user", content }] })).toThrow(
      expect.objectContaining({
        code: "unsupported_content",
        message: 'A user message has a part of type "image_url", which has no text.',
      }),
    );
  });

  it("names the tool of a result by the call it answers", () => {
    const names = of("{% for m in messages %}{{ m.name }}:{{ m.content }}{{ m.tool_calls }}{% endfor %}");
    const result: ChatMessage = { role: "tool", tool_call_id: "c1", content: "r" };
    expect(render(names, { messages: [called("{}"), result] })).toContain("f:r");
  });

  it("writes thinking where the model does: in its own field, or at the head of the content", () => {
    const message: ChatMessage = { role: "assistant", content: "yes", reasoning_content: "hm" };
    const plain = of("{% for m in messages %}{{ m.content }}{% endfor %}");
    expect(render(plain, { messages: [user, message] })).toBe("u<think>\nhm\n</think>\n\nyes");
    const field = of("{% for m in messages %}{{ m.content }}({{ m.reasoning_content }}){% endfor %}");
    expect(render(field, { messages: [user, message] })).toBe("u()yes(hm)");
    const inside: ChatMessage = { role: "assistant", content: "<think>\nhm\n</think>\n\nyes" };
    expect(render(field, { messages: [user, inside] })).toBe("u()yes(hm)");
  });

  it("passes the request's own variables", () => {
    const template = of("{{ enable_thinking }}{{ bos_token }}", { variables: { bos_token: "<s>" } });
    expect(render(template, { messages: [user], templateArgs: { enable_thinking: false } })).toBe("false<s>");
  });
});

describe("template errors", () => {
  const failure = (run: () => unknown): { code: string; message: string } => {
    try {
      run();
    } catch (thrown) {
      return thrown as { code: string; message: string };
    }
    throw new Error("it did not fail");
  };

  it("carry the template's own refusal", () => {
    const template = of("{{ raise_exception('roles must alternate') }}");
    expect(failure(() => render(template, { messages: [user] }))).toMatchObject({
      code: "template_error",
      message: "The chat template refuses the messages: roles must alternate",
    });
  });

  it("carry the engine's message", () => {
    expect(failure(() => of("{% if %}"))).toMatchObject({
      code: "template_error",
      message: expect.stringContaining("The chat template does not compile: "),
    });
    expect(failure(() => render(of("{{ messages | riddle }}"), { messages: [user] })).message).toBe(
      "The chat template failed: Unknown ArrayValue filter: riddle",
    );
  });
});

describe("dates in templates", () => {
  const source = "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}{% else %}26 Jul 2024{% endif %}";

  it("are the template's own unless a day is given, so that prompts repeat", () => {
    expect(render(of(source), { messages: [user] })).toBe("26 Jul 2024");
    expect(render(of(source, { date: new Date(Date.UTC(2026, 2, 5)) }), { messages: [user] })).toBe("05 Mar 2026");
  });

  it("follow strftime, in English and UTC", () => {
    const date = new Date(Date.UTC(2026, 0, 4, 0, 5, 9));
    expect(strftime(date, "%Y-%m-%d %H:%M:%S|%A %a|%B %b|%-d %e|%I %p|%y|%F|%%|%Q")).toBe(
      "2026-01-04 00:05:09|Sunday Sun|January Jan|4  4|12 AM|26|2026-01-04|%|%Q",
    );
  });
});

describe("numbers of Python", () => {
  it.each([
    [1, "1.0"],
    [0.1, "0.1"],
    [-0, "-0.0"],
    [1e16, "1e+16"],
    [123456789012345680, "1.2345678901234568e+17"],
    [9999999999999998, "9999999999999998.0"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [1.5e-7, "1.5e-07"],
    [1e-100, "1e-100"],
    [1e300, "1e+300"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
    [Number.NaN, "NaN"],
  ])("%d is %s", (value, expected) => {
    expect(pythonFloat(value)).toBe(expected);
  });
});

describe("ChatML", () => {
  const tools = [{ type: "function" as const, function: { name: "f", description: "d", parameters: {} } }];

  it("writes turns, tools, calls and results", () => {
    const messages: ChatMessage[] = [
      { role: "system", content: "s" },
      user,
      { ...called('{"a": 1}'), content: "look", reasoning_content: "hm" },
      { role: "tool", tool_call_id: "c1", content: "r1" },
      { role: "tool", tool_call_id: "c2", content: "r2" },
    ];
    expect(render(of(chatmlTemplate), { messages, tools }, true)).toBe(
      [
        "<|im_start|>system\ns\n\n# Tools\n\n<tools>",
        '{"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}',
        "</tools>\n\nTo call a tool, write <tool_call>",
        '{"name": NAME, "arguments": OBJECT}',
        "</tool_call><|im_end|>\n<|im_start|>user\nu<|im_end|>",
        "<|im_start|>assistant\n<think>\nhm\n</think>\n\nlook\n<tool_call>",
        '{"name": "f", "arguments": {"a": 1}}\n</tool_call><|im_end|>',
        "<|im_start|>user\n<tool_response>\nr1\n</tool_response>\n<tool_response>\nr2\n</tool_response><|im_end|>",
        "<|im_start|>assistant\n",
      ].join("\n"),
    );
  });

  it("writes several system and user messages in a row", () => {
    const messages: ChatMessage[] = [{ role: "system", content: "a" }, { role: "system", content: "b" }, user, user];
    const text = render(of(chatmlTemplate), { messages, tools });
    expect(text).toContain("<|im_start|>system\na\n\n# Tools");
    expect(text).toContain(
      "<|im_start|>system\nb<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>user\nu<|im_end|>",
    );
  });
});
