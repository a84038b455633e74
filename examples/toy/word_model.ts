/**
 * Model folders, but for their weights, of small decoders that read whole words: one token per word or number, with the
 * blank before it. Written as a Hugging Face WordLevel tokenizer and a Qwen3 configuration.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Tokens that only the chat format writes; their ids are 0, 1 and 2. */
export const specialTokens: readonly string[] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

/** What a text outside the vocabulary becomes. */
const unknownToken = "[unk]";
/** How text is cut: a word or a number of one or two digits with the blank before it, a line break, a blank. */
export const splitPattern = " ?[a-z]+| ?[0-9]{1,2}|\\n| ";
/** Rows of the embedding: tokens rounded up to a multiple of this. */
const rowMultiple = 16;
const contextLength = 256;
const endOfText = specialTokens.indexOf("<|endoftext|>");
const endOfReply = specialTokens.indexOf("<|im_end|>");

function tokenizerJson(words: readonly string[]): object {
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: { type: "Split", pattern: { Regex: splitPattern }, behavior: "Isolated", invert: false },
    post_processor: null,
    decoder: { type: "Fuse" },
    model: {
      type: "WordLevel",
      vocab: Object.fromEntries([...specialTokens, unknownToken, ...words].map((token, id) => [token, id])),
      unk_token: unknownToken,
    },
  };
}

function tokenizerConfig(): object {
  return {
    tokenizer_class: "PreTrainedTokenizerFast",
    add_bos_token: false,
    bos_token: null,
    eos_token: "<|im_end|>",
    pad_token: "<|endoftext|>",
    unk_token: unknownToken,
    clean_up_tokenization_spaces: false,
    model_max_length: contextLength,
    chat_template: readFileSync(new URL("./chat_template.jinja", import.meta.url), "utf8").trimEnd(),
  };
}

/** Shape of a decoder of width 64. */
export interface WordModelShape {
  layers: number;
  heads: number;
  headDim: number;
  intermediate: number;
}

/** Some 160,000 parameters. */
const defaultShape: WordModelShape = { layers: 3, heads: 4, headDim: 16, intermediate: 176 };

/** Width 64, tied embedding. */
function modelConfig(words: readonly string[], shape: WordModelShape): object {
  const tokens = specialTokens.length + 1 + words.length;
  return {
    architectures: ["Qwen3ForCausalLM"],
    model_type: "qwen3",
    vocab_size: Math.ceil(tokens / rowMultiple) * rowMultiple,
    hidden_size: 64,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.heads,
    head_dim: shape.headDim,
    intermediate_size: shape.intermediate,
    hidden_act: "silu",
    rms_norm_eps: 1e-6,
    rope_theta: 10000,
    max_position_embeddings: contextLength,
    tie_word_embeddings: true,
    attention_bias: false,
    eos_token_id: endOfReply,
    pad_token_id: endOfText,
    torch_dtype: "float32",
  };
}

/** Contents of the folder's files by name; `words` in the order of their ids, the blank before a word included. */
export function wordModelFiles(words: readonly string[], shape: WordModelShape = defaultShape): Record<string, string> {
  const files = {
    "tokenizer.json": tokenizerJson(words),
    "tokenizer_config.json": tokenizerConfig(),
    "config.json": modelConfig(words, shape),
  };
  return Object.fromEntries(
    Object.entries(files).map(([name, value]) => [name, `${JSON.stringify(value, null, 2)}\n`]),
  );
}

/** Writes the files into a folder and says so. */
export function writeWordModel(words: readonly string[], folder: URL | string, shape?: WordModelShape): void {
  const path = typeof folder === "string" ? folder : fileURLToPath(folder);
  mkdirSync(path, { recursive: true });
  for (const [name, text] of Object.entries(wordModelFiles(words, shape))) writeFileSync(join(path, name), text);
  console.log(`wrote tokenizer.json, tokenizer_config.json and config.json to ${path}`);
}
