import type { JsonObject, TokenizerFiles } from "../../schema/tokenizer_files.ts";
import { byteLetters } from "../byte_letters.ts";
import { readAddedTokens } from "../special_tokens.ts";

/** A vocabulary as the grammar library wants it. */
export interface GrammarVocabulary {
  /** Token text by id, as the tokenizer spells it; "" for a token that no grammar may match. */
  tokens: string[];
  /** How that spelling becomes bytes. */
  type: "byte_level" | "byte_fallback" | "raw";
}

/**
 * The vocabulary of a tokenizer.json. Special tokens match nothing, so that no text of a reply spells one, but for those
 * that the model writes its calls with (`markup`). `size`: rows of the model's head, at least as many as tokens.
 */
export function grammarVocabulary(files: TokenizerFiles, size: number, markup: readonly string[]): GrammarVocabulary {
  const type = spelling(files.tokenizer.decoder);
  const tokens = Array.from({ length: size }, () => "");
  for (const [token, id] of pieces((files.tokenizer.model ?? {}) as JsonObject)) if (id < size) tokens[id] = token;
  for (const { id, content, special } of readAddedTokens(files.tokenizer)) {
    if (id < size) tokens[id] = special && !markup.includes(content) ? "" : spelled(content, type);
  }
  return { tokens, type };
}

/** BPE and WordPiece list ids by token, Unigram lists tokens with their scores. */
function pieces({ vocab }: JsonObject): [string, number][] {
  if (Array.isArray(vocab)) return vocab.map((entry, id) => [String(entry[0]), id]);
  return Object.entries((vocab ?? {}) as Record<string, number>);
}

function spelling(decoder: unknown): GrammarVocabulary["type"] {
  const text = JSON.stringify(decoder ?? null);
  if (text.includes('"ByteLevel"')) return "byte_level";
  return text.includes('"ByteFallback"') || text.includes("▁") ? "byte_fallback" : "raw";
}

/** An added token's text in the spelling of the others. */
function spelled(text: string, type: GrammarVocabulary["type"]): string {
  if (type === "byte_fallback") return text.replaceAll(" ", "▁");
  if (type === "raw") return text;
  return Array.from(new TextEncoder().encode(text), (byte) => byteLetters[byte]).join("");
}
