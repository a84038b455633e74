import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The package exports a function only; its templates are string literals in a source file of its own. */
const literals = readFileSync(
  new URL("../../node_modules/@huggingface/ollama-utils/src/chat-template-automap.ts", import.meta.url),
  "utf8",
).matchAll(/\bgguf:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/g);
/** Sources of the templates by the first 12 digits of their SHA-256. */
export const publishedTemplates: ReadonlyMap<string, string> = new Map(
  Array.from(literals, ([, literal = ""]) => {
    const text = unquoted(literal);
    return [sha256(text).slice(0, 12), text];
  }),
);

function unquoted(literal: string): string {
  const body = literal.slice(1, -1);
  const json = literal.startsWith('"') ? body : body.replaceAll("\\'", "'").replace(/(?<!\\)"/g, '\\"');
  return JSON.parse(`"${json}"`) as string;
}
