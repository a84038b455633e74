// The page's texts as data: the same keys and places in every language; every experiment and every fault that a tab can
// meet is told in Korean too.
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import experimentsEnglish from "../../src/app/experiment_texts.en.json" with { type: "json" };
import experimentsKorean from "../../src/app/experiment_texts.ko.json" with { type: "json" };
import { experimentText } from "../../src/app/page/experiment_text.ts";
import { faultText, toldCodes } from "../../src/app/page/fault_texts.ts";
import pageEnglish from "../../src/app/page/texts.en.json" with { type: "json" };
import pageKorean from "../../src/app/page/texts.ko.json" with { type: "json" };
import { textsOf } from "../../src/app/page/texts.ts";
import { tabChoices } from "../../src/app/tab/experiments.ts";

const english = { ...pageEnglish, ...experimentsEnglish };
const korean = { ...pageKorean, ...experimentsKorean };
const hangul = /[가-힣]/;
const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

/** Source text of a folder's files, or of one file, beside those that run elsewhere than in a tab. */
function sourcesOf(path: string, but = /$^/): string {
  const url = new URL(`../../${path}`, import.meta.url);
  if (/\.tsx?$/.test(path)) return readFileSync(url, "utf8");
  const names = readdirSync(url).filter((name) => /\.tsx?$/.test(name) && !but.test(name));
  return names
    .map((name) => readFileSync(new URL(`${path}/${name}`, new URL("../../", import.meta.url)), "utf8"))
    .join("\n");
}

describe("the page's texts", () => {
  it("have the same keys and the same places in both languages", () => {
    expect(Object.keys(korean)).toEqual(Object.keys(english));
    const en: Record<string, string> = english;
    for (const [key, text] of Object.entries(korean)) expect(places(text), key).toEqual(places(en[key] ?? ""));
  });

  it("are needed by nobody but the page", () => {
    expect(sourcesOf("src/app/tab")).not.toMatch(/from "\.\.\/page\//);
  });

  it("are Korean in Korean", () => {
    expect(Object.entries(korean).filter(([, text]) => !hangul.test(text))).toEqual([]);
  });

  it.each([
    ["갱신", /갱신/, "업데이트"],
    ["훈련", /훈련/, "학습"],
    // A difference, "차이점", is another word.
    ["이점", /(?<!차)이점/, "어드밴티지"],
    ["덧셈 기계", /덧셈 기계/, "계산기"],
    ["계산기를 가진", /계산기를 가진/, "계산기를 쓰는 점원"],
  ])("have no second word in Korean, nor do the studio and the lessons: %s", (_, abandoned, word) => {
    const root = new URL("../../", import.meta.url);
    const lessons = readdirSync(new URL("examples/lessons", root), { recursive: true })
      .map((path) => `examples/lessons/${path}`)
      .filter((path) => path.endsWith("texts.ko.json"));
    const own = [
      "src/app/page/texts.ko.json",
      "src/app/experiment_texts.ko.json",
      "gateway/studio/client/texts.ko.json",
    ];
    const paths = [...own, ...lessons];
    expect(paths.length).toBeGreaterThan(11);
    const texts = paths.map((path) => [path, readFileSync(new URL(path, root), "utf8")] as const);
    expect(texts.filter(([, text]) => abandoned.test(text)).map(([path]) => path)).toEqual([]);
    expect(texts.filter(([, text]) => text.includes(word))).not.toEqual([]);
  });
});

describe("an experiment", () => {
  it("has its name and what it is about in the page's language", async () => {
    const choices = await tabChoices(async () => ({ resumable: false }));
    expect(choices.length).toBeGreaterThan(3);
    for (const choice of choices) {
      for (const part of ["title", "summary"] as const) {
        expect(experimentText(textsOf("en"), choice, part), choice.id).toBe(choice[part]);
        expect(experimentText(textsOf("ko"), choice, part), choice.id).toMatch(hangul);
      }
    }
  });

  it("that the page has no text for has its own words", async () => {
    const [choice] = await tabChoices(async () => ({ resumable: false }));
    if (choice === undefined) throw new Error("No experiment is offered.");
    const own = { ...choice, id: "own", title: "My own", summary: "Of mine." };
    expect(experimentText(textsOf("ko"), own, "title")).toBe("My own");
    expect(experimentText(textsOf("ko"), own, "summary")).toBe("Of mine.");
  });
});

describe("a fault", () => {
  it("is told in the page's language where its code is known, else by its own words alone", () => {
    expect(toldCodes.length).toBeGreaterThan(60);
    expect(new Set(toldCodes).size).toBe(toldCodes.length);
    for (const code of toldCodes) {
      const { text } = faultText(code) ?? { text: "title" as const };
      expect(textsOf("ko")(text), code).toMatch(hangul);
      expect(textsOf("en")(text), code).not.toMatch(hangul);
    }
    expect(faultText("no_such_code")).toBeNull();
    expect(faultText("config")).toEqual({ text: "fault.settings", exact: true });
  });

  it("of a tab's own parts has a known code", () => {
    // What opens, keeps and reads in a tab; codes of the environment have a page of their own.
    const sources = [
      ...["src/app/tab", "src/io", "src/store", "src/experiment", "src/app/page_assets.ts"].map((path) =>
        sourcesOf(path),
      ),
      sourcesOf("src/platform", /node|deno|vite|process_tree|http|disk/),
      sourcesOf("src/app/page/environment.tsx"),
    ].join("\n");
    const thrown = [...sources.matchAll(/(?:new \w*Error|super)\(\s*"([a-z]+(?:_[a-z0-9]+)+|config|json|zip)",/g)];
    const codes = new Set(thrown.map(([, code = ""]) => code));
    expect(codes.size).toBeGreaterThan(30);
    const shown = (code: string): boolean => sources.includes(`  ${code}: { title:`) || toldCodes.includes(code);
    expect([...codes].filter((code) => !shown(code))).toEqual([]);
  });
});
