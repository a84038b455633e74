import { alignUp } from "../core/shape.ts";
import { parseHfConfig } from "../io/hf_config.ts";
import type { TensorSource } from "../io/safetensors.ts";
import { saveModel } from "../io/save_model.ts";
import { readTokenizerFiles } from "../io/tokenizer_folder.ts";
import { familyOf } from "../model/families/registry.ts";
import { type InitOptions, initialTensors } from "../model/initialize.ts";
import type { Files } from "../schema/files.ts";
import { ChatFormat } from "../text/chat_format.ts";
import type { ModelPreset } from "./model_presets.ts";
import { modelTextFiles } from "./model_text_files.ts";
import { tokenizerIds } from "./tokenizer_ids.ts";

/** Rows of the embedding are a multiple of this, so that the head's kernels need no remainder. */
const rowMultiple = 16;

/** What was written. */
export interface InitializedModel {
  readonly parameters: number;
  readonly vocabSize: number;
  /** Ids that end a reply; none where the tokenizer has no token for the end of a turn. */
  readonly stopIds: readonly number[];
}

function configOf(shape: ModelPreset["shape"], vocabSize: number, stopIds: readonly number[]): Record<string, unknown> {
  return {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    vocab_size: vocabSize,
    ...shape,
    hidden_act: "silu",
    rms_norm_eps: 1e-6,
    tie_word_embeddings: true,
    attention_bias: false,
    mlp_bias: false,
    initializer_range: 0.02,
    ...(stopIds.length === 0 ? {} : { eos_token_id: stopIds.length === 1 ? stopIds[0] : stopIds }),
    torch_dtype: "float32",
  };
}

/**
 * Writes a model folder with random weights of a seed, and the tokenizer and chat template of another folder.
 * @throws FormatError "tokenizer_missing" | "tokenizer_json" | "template_error"; EnvironmentError "disk_full"
 */
export async function initModel(
  files: Files,
  { preset, tokenizer, out, init }: { preset: ModelPreset; tokenizer: string; out: string; init: InitOptions },
): Promise<InitializedModel> {
  const tokenizerFiles = await readTokenizerFiles(files, tokenizer);
  const { stopIds } = ChatFormat.load(tokenizerFiles);
  const vocabSize = alignUp(tokenizerIds(tokenizerFiles.tokenizer), rowMultiple);
  const config = configOf(preset.shape, vocabSize, stopIds);
  const parsed = parseHfConfig(config);
  const family = familyOf(parsed);
  const tensors = [...initialTensors(family, family.describe(parsed), init)].map(
    ({ name, shape, values }): TensorSource => ({ name, shape, dtype: "F32", load: () => values }),
  );
  for (const [name, bytes] of Object.entries(await modelTextFiles(files, tokenizer))) {
    await files.write(files.join(out, name), bytes);
  }
  await saveModel(files, out, { config, tensors });
  const parameters = tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  return { parameters, vocabSize, stopIds };
}
