import { sizeOf } from "../core/shape.ts";
import type { Device } from "../gpu/device.ts";
import type { HfConfig } from "../io/hf_config.ts";
import { criticArchitecture } from "./families/critic.ts";
import { familyOf } from "./families/registry.ts";
import type { WeightSource } from "./load_weights.ts";
import { Model } from "./model.ts";

const scoreShapes = (width: number): Readonly<Record<string, readonly number[]>> => ({
  "score.weight": [1, width],
  "score.bias": [1],
});

/** config.json of the critic that shares a causal model's decoder; a critic's own stays as it is. */
export function criticConfig(config: HfConfig): HfConfig {
  const architectures = config.architectures.map(criticArchitecture);
  const raw = { ...config.raw, architectures, num_labels: 1, tie_word_embeddings: false };
  return { ...config, architectures, tieWordEmbeddings: false, raw };
}

/** A causal model's tensors as a critic's: the language head left out, a value head of zeros in its place. */
function withFreshHead(source: WeightSource, width: number): WeightSource {
  const shapes = scoreShapes(width);
  return {
    path: source.path,
    names: [...source.names.filter((name) => name !== "lm_head.weight"), ...Object.keys(shapes)],
    entry: (name) => (shapes[name] === undefined ? source.entry(name) : { shape: shapes[name] }),
    read: async (name) => {
      const shape = shapes[name];
      return shape === undefined ? source.read(name) : new Float32Array(sizeOf(shape));
    },
  };
}

/**
 * A critic from a folder of its own kind, or from a causal model: then its decoder starts as that model's and its value
 * head at 0. @throws FormatError as Model.load
 */
export function loadCritic(device: Device, config: HfConfig, source: WeightSource): Promise<Model> {
  if (source.names.includes("score.weight")) return Model.load(device, criticConfig(config), source);
  const own = criticConfig(config);
  return Model.load(device, own, withFreshHead(source, familyOf(own).describe(own).width));
}
