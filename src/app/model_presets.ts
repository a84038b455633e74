/** Shapes of models to begin with: what of a config.json does not follow from the tokenizer. */
export interface ModelPreset {
  /** One line: what it is good for. */
  readonly summary: string;
  /** Fields of a Llama-shaped config.json. */
  readonly shape: Readonly<Record<string, number>>;
}

/** Every preset of `leyden init-model`. */
export const modelPresets: Readonly<Record<string, ModelPreset>> = {
  scripted: {
    summary: "1 layer of width 32 with 131,072 positions: answers long prompts of real agents, for scripted replies",
    shape: {
      hidden_size: 32,
      num_hidden_layers: 1,
      num_attention_heads: 2,
      num_key_value_heads: 1,
      head_dim: 16,
      intermediate_size: 64,
      max_position_embeddings: 131_072,
      rope_theta: 1_000_000,
    },
  },
  tiny: {
    summary: "2 layers of width 64 with 2,048 positions: trains in minutes without a GPU",
    shape: {
      hidden_size: 64,
      num_hidden_layers: 2,
      num_attention_heads: 2,
      num_key_value_heads: 2,
      head_dim: 32,
      intermediate_size: 176,
      max_position_embeddings: 2_048,
      rope_theta: 10_000,
    },
  },
  small: {
    summary: "4 layers of width 256 with 8,192 positions: for a GPU",
    shape: {
      hidden_size: 256,
      num_hidden_layers: 4,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 64,
      intermediate_size: 704,
      max_position_embeddings: 8_192,
      rope_theta: 100_000,
    },
  },
};
