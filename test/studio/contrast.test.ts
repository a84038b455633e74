// Colours as data: every colour of text has a contrast of 4.5:1 on every ground it stands on, light and dark.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const sheets = `${read("src/app/page/theme.css")}\n${read("gateway/studio/client/studio.css")}`;

type Rgb = readonly [number, number, number];

/** Custom properties of the blocks that a selector begins. */
function properties(selector: string): Map<string, string> {
  const found = new Map<string, string>();
  const escaped = selector.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  for (const [, block = ""] of sheets.matchAll(new RegExp(`(?:^|\\n)${escaped} \\{([^}]*)\\}`, "g"))) {
    for (const [, name = "", value = ""] of block.matchAll(/--([\w-]+):\s*([^;]+);/g)) found.set(name, value.trim());
  }
  return found;
}

const light = properties(":root");
const dark = new Map([...light, ...properties(':root[data-theme="dark"]')]);

function rgb(value: string): Rgb {
  if (value.startsWith("#")) return [1, 3, 5].map((i) => Number.parseInt(value.slice(i, i + 2), 16)) as unknown as Rgb;
  return value.split(" ").map(Number) as unknown as Rgb;
}

function luminance(color: Rgb): number {
  const [r, g, b] = color.map((c) =>
    c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
  ) as unknown as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const over = (top: Rgb, alpha: number, under: Rgb): Rgb =>
  top.map((c, i) => c * alpha + (under[i] as number) * (1 - alpha)) as unknown as Rgb;

/** Strongest share of each token colour, as the style sheet has it. */
function strongest(name: string): number {
  const shares = [...sheets.matchAll(new RegExp(`rgb\\(var\\(--${name}\\) / ([0-9.]+)\\)`, "g"))].map(([, share]) =>
    Number(share),
  );
  return Math.max(...shares);
}

describe.each([
  ["light", light],
  ["dark", dark],
])("colours in the %s", (_name, colors) => {
  const color = (name: string): Rgb => rgb(colors.get(name) ?? "");
  const grounds = ["bg", "surface", "raised"];

  it.each(["text", "muted", "accent", "good", "warn", "bad", "st-a", "st-b", "st-c", "st-d", "st-e"])(
    "%s is readable",
    (text) => {
      expect(colors.has(text)).toBe(true);
      for (const ground of grounds) expect(contrast(color(text), color(ground)), ground).toBeGreaterThanOrEqual(4.5);
    },
  );

  it("text is readable on what is chosen, and on buttons", () => {
    for (const text of ["text", "muted", "st-a", "st-b", "st-c", "st-d", "st-e"]) {
      expect(contrast(color(text), color("accent-soft")), text).toBeGreaterThanOrEqual(4.5);
    }
    expect(contrast(color("accent-text"), color("accent"))).toBeGreaterThanOrEqual(4.5);
  });

  it.each(["st-up", "st-down", "st-seq"])("text is readable on tokens of %s", (name) => {
    const share = strongest(name);
    expect(share).toBeGreaterThan(0.2);
    expect(contrast(color("text"), over(color(name), share, color("raised")))).toBeGreaterThanOrEqual(4.5);
  });
});
