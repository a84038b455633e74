// Texts as data: the same keys and places in every language, all of them used, none missing.
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import english from "../../gateway/studio/client/texts.en.json" with { type: "json" };
import korean from "../../gateway/studio/client/texts.ko.json" with { type: "json" };

const folder = new URL("../../gateway/studio/client/", import.meta.url);
const sources = readdirSync(folder)
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => readFileSync(new URL(name, folder), "utf8"));
const code = sources.join("\n");

const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

describe("the studio's texts", () => {
  it("have the same keys and the same places in both languages", () => {
    expect(Object.keys(korean)).toEqual(Object.keys(english));
    const en: Record<string, string> = english;
    for (const [key, text] of Object.entries(korean)) expect(places(text), key).toEqual(places(en[key] ?? ""));
  });

  it("are Korean in Korean, but for names", () => {
    const names = ["call.prompt", "fact.dialect", "line.kl", "token.id"];
    const bare = Object.entries(korean).filter(([key, text]) => !/[가-힣]/.test(text) && !names.includes(key));
    expect(bare).toEqual([]);
  });

  it("are all said somewhere, by name or by a name's beginning", () => {
    const begun = [...code.matchAll(/`([a-z]+)\.\$\{/g)].map(([, name]) => name);
    const unused = Object.keys(english).filter(
      (key) => !code.includes(`"${key}"`) && !begun.includes(key.split(".")[0] ?? "") && !code.includes(`\`${key}\``),
    );
    expect(unused).toEqual([]);
  });
});

describe("the studio's code", () => {
  it("never reads text as markup or code", () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(code).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function/,
    );
  });
});
