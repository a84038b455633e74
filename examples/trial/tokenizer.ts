/**
 * Makes the tokenizer of the tiny model that `leyden try` answers with: `node examples/trial/tokenizer.ts [FOLDER]`.
 * Byte pairs learned from this repository's own texts and sources, whose mixture of English, code and JSON is what
 * agents send; it has to be short for such prompts, not the best for anything.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Bpe, trainBpe } from "../calc/bpe.ts";

/** Size of the learned vocabulary; added tokens come after it. */
const learnedTokens = 6144;
/** Words met less often teach nothing but names. */
const fewest = 2;
const sources = ["README.md", "ARCHITECTURE.md", "LICENSE", "src", "gateway", "examples", "shaders", "test"];
const suffix = /\.(md|ts|wgsl|mjs)$|LICENSE$/;

/** Tokens of the turns, and of the markup inside them that a model may also write as text. */
const turnTokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const markupTokens = ["<tool_call>", "</tool_call>", "<think>", "</think>"];

/** How text is cut before merging: Qwen2's pattern. */
const splitPattern =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

function* textsBelow(path: string): Generator<string> {
  if (suffix.test(path)) return yield readFileSync(path, "utf8");
  if (/node_modules|\.[a-z]+$/i.test(path)) return;
  for (const entry of readdirSync(path)) yield* textsBelow(join(path, entry));
}

/** Words of the texts, as they are and inside a JSON string, as agents quote them. */
function countWords(root: string): Map<string, number> {
  const pattern = new RegExp(splitPattern, "gu");
  const counts = new Map<string, number>();
  for (const source of sources) {
    for (const text of textsBelow(join(root, source))) {
      for (const form of [text, JSON.stringify(text)]) {
        for (const [word] of form.matchAll(pattern)) counts.set(word, (counts.get(word) ?? 0) + 1);
      }
    }
  }
  return new Map([...counts].filter(([, count]) => count >= fewest));
}

function tokenizerJson({ vocab, merges }: Bpe): object {
  const added = [...turnTokens, ...markupTokens].map((content, i) => ({
    id: vocab.length + i,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: turnTokens.includes(content),
  }));
  const split = { type: "Split", pattern: { Regex: splitPattern }, behavior: "Isolated", invert: false };
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  return {
    version: "1.0",
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [split, bytes] },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: "BPE",
      unk_token: null,
      vocab: Object.fromEntries(vocab.map((token, id) => [token, id])),
      merges: merges.map((pair) => pair.join(" ")),
    },
  };
}

const config = {
  tokenizer_class: "PreTrainedTokenizerFast",
  eos_token: "<|im_end|>",
  pad_token: "<|endoftext|>",
  clean_up_tokenization_spaces: false,
};

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = process.argv[2] ?? fileURLToPath(new URL("./model", import.meta.url));
mkdirSync(folder, { recursive: true });
writeFileSync(
  join(folder, "tokenizer.json"),
  `${JSON.stringify(tokenizerJson(trainBpe(countWords(root), learnedTokens)))}\n`,
);
writeFileSync(join(folder, "tokenizer_config.json"), `${JSON.stringify(config, null, 2)}\n`);
console.log(`wrote tokenizer.json and tokenizer_config.json to ${folder}`);
