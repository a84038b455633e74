import { describe, expect, it } from "vitest";
import { counted } from "../../src/cli/counted.ts";
import { visible, visibleLine } from "../../src/cli/visible_text.ts";

describe("visible", () => {
  it("leaves text as it is, in any script", () => {
    const text = "a\n\tb é 漢字 한글 👩‍🚀 <b>\\u001b";
    expect(visible(text)).toBe(text);
  });

  it("shows what would command the terminal or hide text as its code", () => {
    expect(visible("\u001b[31mred\r\u0007\u009b2J\u007f\u202etxt.exe\u2066x")).toBe(
      "\\u001b[31mred\\u000d\\u0007\\u009b2J\\u007f\\u202etxt.exe\\u2066x",
    );
  });
});

it("visibleLine keeps a text on its line", () => {
  expect(visibleLine("a\n\tb\u001bc")).toBe("a\\u000a\\u0009b\\u001bc");
});

describe("counted", () => {
  it("puts the noun in its number", () => {
    expect([0, 1, 1200].map((n) => counted(n, "token"))).toEqual(["0 tokens", "1 token", "1,200 tokens"]);
  });
});
