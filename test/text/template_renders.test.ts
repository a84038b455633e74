import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ChatTemplate } from "../../src/text/chat_template.ts";
import { publishedTemplates, sha256 } from "./published_templates.ts";

interface Golden {
  variables: Record<string, string>;
  conversations: Record<string, Record<string, unknown>>;
  renders: Record<string, Record<string, string | null>>;
}

const golden = JSON.parse(readFileSync(new URL("./template_renders.json", import.meta.url), "utf8")) as Golden;
function hashOfRender(template: ChatTemplate, conversation: Record<string, unknown>): string | null {
  try {
    return sha256(template.renderVariables({ add_generation_prompt: true, ...conversation })).slice(0, 16);
  } catch {
    return null;
  }
}

describe("the templates of 97 published models", () => {
  it("give what Python's Jinja2 gives, and are refused where it refuses", () => {
    let [rendered, refused] = [0, 0];
    for (const [hash, renders] of Object.entries(golden.renders)) {
      const template = new ChatTemplate(
        { default: publishedTemplates.get(hash) as string },
        { variables: golden.variables },
      );
      for (const [name, expected] of Object.entries(renders)) {
        const actual = hashOfRender(template, golden.conversations[name] as Record<string, unknown>);
        expect(actual, `${hash} ${name}`).toBe(expected);
        if (expected === null) refused++;
        else rendered++;
      }
    }
    expect({ rendered, refused }).toEqual({ rendered: 590, refused: 89 });
  });
});

describe("constructs the engine's package lacks", () => {
  const cases: [string, string][] = [
    ['{{ ["a","b"]|reject("equalto","a")|join }}', "b"],
    ['{{ ["a","b","c"]|reject("in",["a","c"])|join }}', "b"],
    ['{{ [1,5,9]|select("gt",4)|join("-") }}', "5-9"],
    ['{{ ["a","",none]|select|join("-") }}', "a"],
    ['{% for c in "a𝄞" %}{{ loop.index }}{{ c }},{% endfor %}', "1a,2𝄞,"],
    ['{% for c in "ab" if c != "a" %}{{ c }}{% endfor %}', "b"],
    ["{% for c in nope %}x{% else %}none{% endfor %}", "none"],
    ['{{ "ab"|selectattr("type","equalto","image")|list|length }}', "0"],
    ['{{ "ab"|rejectattr("type")|list|length }}', "2"],
    ['{{ nope|selectattr("a")|list|length }}', "0"],
    ['{{ [{"t":{"u":1}},{"t":{"u":2}}]|selectattr("t.u","equalto",2)|list|length }}', "1"],
    ['{{ "\\n \\na \\n".strip("\\n") }}|', " \na |"],
    ['{{ "xyaxy".lstrip("yx") }}{{ "xyaxy".rstrip("yx") }}', "axyxya"],
    ['{{ "\\ufeffa ".strip() }}|', "\ufeffa|"],
  ];
  it.each(cases)("%s", (source, expected) => {
    expect(new ChatTemplate({ default: source }).renderVariables({})).toBe(expected);
  });

  it("refuses the sum of a text and an object instead of writing [object Map]", () => {
    const template = new ChatTemplate({ default: '{{ "a" + d }}' });
    expect(() => template.renderVariables({ d: { b: 1 } })).toThrow(/can only concatenate text to text/);
  });

  it("refuses a test it does not know", () => {
    const template = new ChatTemplate({ default: '{{ ["a"]|reject("nosuch")|list }}' });
    expect(() => template.renderVariables({})).toThrow(/Unknown test: nosuch/);
  });
});
