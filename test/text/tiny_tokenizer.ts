import type { TokenizerFiles } from "../../src/schema/tokenizer_files.ts";

/** The letters that stand for bytes in byte-level vocabularies, by byte. */
function byteLetters(): string[] {
  const printable = (b: number) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(printable(b) ? b : next++));
}

/** Pairs that merge, in order; "Ġ" is a space and "Ċ" a newline. */
const merges = [
  "h e",
  "l l",
  "he ll",
  "hell o",
  "Ġ t",
  "Ġt he",
  "a n",
  "Ġ a",
  "Ċ Ċ",
  "< |",
  "| >",
  '" :',
  "o o",
  "t o",
];

const turnTokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const markupTokens = ["<tool_call>", "</tool_call>", "<think>", "</think>"];

/**
 * A small byte-level BPE tokenizer in Qwen's manner: its split pattern, turn tokens that are special, markup tokens that
 * are added but not special. Lossless for every text.
 */
export function tinyTokenizerFiles(overrides: Partial<TokenizerFiles> = {}): TokenizerFiles {
  const vocab: Record<string, number> = {};
  for (const letter of byteLetters()) vocab[letter] = Object.keys(vocab).length;
  for (const merge of merges) vocab[merge.replace(" ", "")] = Object.keys(vocab).length;
  const base = Object.keys(vocab).length;
  const added = [...turnTokens, ...markupTokens].map((content, i) => ({
    id: base + i,
    content,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: turnTokens.includes(content),
  }));
  const pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  const split = { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false };
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  return {
    name: "tiny",
    tokenizer: {
      version: "1.0",
      added_tokens: added,
      normalizer: null,
      pre_tokenizer: { type: "Sequence", pretokenizers: [split, bytes] },
      post_processor: null,
      decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: { type: "BPE", unk_token: null, vocab, merges },
    },
    tokenizerConfig: { eos_token: "<|im_end|>" },
    specialTokensMap: null,
    generationConfig: null,
    modelConfig: null,
    chatTemplates: {},
    ...overrides,
  };
}
