import { regexTooLarge } from "./repetition.ts";
import { schemaFault } from "./schema_fault.ts";

/** What regular expressions may have and grammars cannot follow, outside of classes of characters. */
const unfollowable: readonly (readonly [form: RegExp, what: string])[] = [
  [/\(\?<?[=!]|\\[1-9]|\\k/, "looks around or back"],
  [/\\[bB]/, "asks for the border of a word"],
  [/\\[pP]\{/, "asks for a property of Unicode"],
  [/(?<!\\(?:[ux])?)\{(?!\d+(?:,\d*)?\})/, "has a brace that is neither a count nor escaped"],
  [/\[\]/, "has brackets with nothing between them"],
];

/** True when one of the two ways to read expressions takes it. */
function isExpression(pattern: string): boolean {
  return ["", "u"].some((flags) => {
    try {
      new RegExp(pattern, flags);
      return true;
    } catch {
      return false;
    }
  });
}

/** Finds what is no regular expression, or none that a grammar can follow. @throws ConfigError "config" */
export function checkPattern(pattern: unknown, path: string): void {
  if (pattern === undefined) return;
  if (typeof pattern !== "string") throw schemaFault(path, "is no text", "Write a regular expression there.");
  const said = JSON.stringify(pattern).slice(0, 100);
  const advice = "Use classes, groups, alternatives and counts only.";
  if (!isExpression(pattern)) throw schemaFault(path, `is no regular expression: ${said}`, advice);
  // An escaped backslash is no escape of what follows it; between brackets \b is another thing.
  const bare = pattern.replaceAll("\\\\", "");
  const outside = bare.replace(/\[(?:[^\]\\]|\\.)+\]/g, "[x]");
  for (const [form, what] of unfollowable) {
    if (form.test(outside)) throw schemaFault(path, `${what}: ${said}`, advice);
  }
  for (const [inside] of bare.matchAll(/\[(?:[^\]\\]|\\.)*\]/g)) {
    const isProperty = /\\[pP]\{/.test(inside);
    if (isProperty) throw schemaFault(path, `asks for a property of Unicode: ${said}`, advice);
    if (/[^[^-]-\\[dDwWsS]/.test(inside)) throw schemaFault(path, `has a range that ends in a class: ${said}`, advice);
  }
  const size = regexTooLarge(pattern);
  if (size !== null) throw schemaFault(path, size, "Ask for less, or bound the length by maxLength.");
}
