/**
 * Makes the model folder but for its weights: `node examples/calc/tokenizer.ts [FOLDER]`. The tokenizer is trained on
 * 3,000 noisy traces; running it again writes the same bytes.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Bpe, trainBpe } from "./bpe.ts";
import { segments } from "./conversation.ts";
import { traceAt } from "./traces.ts";

/** Size of the learned vocabulary; the special tokens come after it. */
const learnedTokens = 640;
const trainingTraces = 3000;
const trainingSeed = 7;
/** Rows of the embedding: tokens rounded up to a multiple of this. */
const rowMultiple = 16;
const contextLength = 512;

/** Tokens that only the chat format writes. */
export const specialTokens: readonly string[] = [
  "<|endoftext|>",
  "<|im_start|>",
  "<|im_end|>",
  "<tool_call>",
  "</tool_call>",
  "<tool_response>",
  "</tool_response>",
  "<tools>",
  "</tools>",
];

/** How text is cut before merging: Qwen2's pattern, with one or two digits to a piece instead of one. */
export const splitPattern =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,2}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

function countWords(texts: Iterable<string>): Map<string, number> {
  const escaped = specialTokens.map((token) => token.replace(/[|\\/]/g, "\\$&"));
  const special = new RegExp(escaped.join("|"), "u");
  const pattern = new RegExp(splitPattern, "gu");
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const plain of text.split(special)) {
      for (const [word] of plain.matchAll(pattern)) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  return counts;
}

function* trainingTexts(): Generator<string> {
  for (let i = 0; i < trainingTraces; i++) {
    yield segments(traceAt("noisy", trainingSeed, i))
      .map((segment) => segment.text)
      .join("");
  }
}

/** Trains the vocabulary of the calc model. */
export function trainCalcBpe(): Bpe {
  return trainBpe(countWords(trainingTexts()), learnedTokens);
}

function tokenizerJson({ vocab, merges }: Bpe): object {
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map((content, i) => ({
      id: vocab.length + i,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: splitPattern }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(vocab.map((token, id) => [token, id])),
      merges: merges.map((pair) => pair.join(" ")),
    },
  };
}

function tokenizerConfig(chatTemplate: string): object {
  return {
    tokenizer_class: "PreTrainedTokenizerFast",
    add_bos_token: false,
    bos_token: null,
    eos_token: "<|im_end|>",
    pad_token: "<|endoftext|>",
    unk_token: null,
    clean_up_tokenization_spaces: false,
    model_max_length: contextLength,
    chat_template: chatTemplate,
  };
}

/** The model's shape: 142,784 parameters, tied embedding. */
function modelConfig(vocabSize: number): object {
  return {
    architectures: ["Qwen3ForCausalLM"],
    model_type: "qwen3",
    vocab_size: Math.ceil(vocabSize / rowMultiple) * rowMultiple,
    hidden_size: 64,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    num_key_value_heads: 2,
    head_dim: 32,
    intermediate_size: 176,
    hidden_act: "silu",
    rms_norm_eps: 1e-6,
    rope_theta: 10000,
    max_position_embeddings: contextLength,
    tie_word_embeddings: true,
    attention_bias: false,
    eos_token_id: learnedTokens + specialTokens.indexOf("<|im_end|>"),
    pad_token_id: learnedTokens + specialTokens.indexOf("<|endoftext|>"),
    torch_dtype: "float32",
  };
}

/** JSON with lists of one name on one line, as the formatter leaves it. */
function json(value: object): string {
  return `${JSON.stringify(value, null, 2).replace(/\[\n *("[^"]*")\n *\]/g, "[$1]")}\n`;
}

/** Contents of the folder's files by name. */
export function modelFiles(): Record<string, string> {
  const bpe = trainCalcBpe();
  const template = readFileSync(new URL("./chat_template.jinja", import.meta.url), "utf8").trimEnd();
  return {
    "tokenizer.json": json(tokenizerJson(bpe)),
    "tokenizer_config.json": json(tokenizerConfig(template)),
    "config.json": json(modelConfig(bpe.vocab.length + specialTokens.length)),
  };
}

if (import.meta.main) {
  const folder = process.argv[2] ?? fileURLToPath(new URL("./model", import.meta.url));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(modelFiles())) writeFileSync(join(folder, name), text);
  console.log(`wrote tokenizer.json, tokenizer_config.json and config.json to ${folder}`);
}
