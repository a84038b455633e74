/** config.json of a tiny model of each family, as Hugging Face (or Leyden) writes it. */
export const llamaConfig: Record<string, unknown> = {
  architectures: ["LlamaForCausalLM"],
  model_type: "llama",
  vocab_size: 40,
  hidden_size: 16,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 8,
  intermediate_size: 24,
  hidden_act: "silu",
  max_position_embeddings: 64,
  rms_norm_eps: 1e-5,
  rope_theta: 10000,
  rope_scaling: null,
  tie_word_embeddings: false,
  torch_dtype: "float32",
};

export const qwen2Config: Record<string, unknown> = {
  ...llamaConfig,
  architectures: ["Qwen2ForCausalLM"],
  model_type: "qwen2",
  head_dim: undefined,
  sliding_window: null,
  use_sliding_window: false,
  tie_word_embeddings: true,
};

export const qwen3Config: Record<string, unknown> = {
  ...llamaConfig,
  architectures: ["Qwen3ForCausalLM"],
  model_type: "qwen3",
};

export const gemmaConfig: Record<string, unknown> = {
  ...llamaConfig,
  architectures: ["GemmaForCausalLM"],
  model_type: "gemma",
  num_key_value_heads: 1,
  hidden_act: "gelu",
  hidden_activation: "gelu_pytorch_tanh",
  tie_word_embeddings: true,
};

export const gpt2Config: Record<string, unknown> = {
  architectures: ["GPT2LMHeadModel"],
  model_type: "gpt2",
  activation_function: "gelu_new",
  n_layer: 2,
  n_head: 2,
  n_embd: 12,
  n_positions: 20,
  vocab_size: 30,
  layer_norm_epsilon: 1e-5,
};

export const peersConfig: Record<string, unknown> = {
  architectures: ["LeydenPeersForCausalLM"],
  model_type: "leyden-peers",
  vocab_size: 32,
  hidden_size: 16,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  intermediate_size: 24,
  max_position_embeddings: 32,
};

export const allConfigs: readonly Record<string, unknown>[] = [
  llamaConfig,
  qwen2Config,
  qwen3Config,
  gemmaConfig,
  gpt2Config,
  peersConfig,
];
