import { FormatError } from "../../core/errors.ts";
import type { HfConfig } from "../../io/hf_config.ts";
import { criticOf, isCriticArchitecture } from "./critic.ts";
import type { Family } from "./family.ts";
import { gemma } from "./gemma.ts";
import { gpt2 } from "./gpt2.ts";
import { llama } from "./llama.ts";
import { peers } from "./peers.ts";
import { qwen2 } from "./qwen2.ts";
import { qwen3 } from "./qwen3.ts";

/** Every family Leyden runs; to add one, write its file and add a line. */
export const families: readonly Family[] = [llama, qwen2, qwen3, gemma, gpt2, peers];

/**
 * The family of a config.json by `model_type`; its `architectures`, when given, must name one the family knows.
 * @throws FormatError "model_unsupported" naming the supported ones
 */
export function familyOf(config: HfConfig): Family {
  const found = families.find((f) => f.modelTypes.includes(config.modelType));
  const known = families.flatMap((f) => f.modelTypes).join(", ");
  if (found === undefined) {
    throw new FormatError("model_unsupported", `Models of type "${config.modelType}" are not supported.`, {
      do: `Use a model whose config.json has model_type ${known}.`,
      data: { modelType: config.modelType },
    });
  }
  const { architectures } = config;
  if (architectures.some((a) => isCriticArchitecture(a, found))) return criticOf(found);
  if (architectures.length > 0 && !architectures.some((a) => found.architectures.includes(a))) {
    throw new FormatError(
      "model_unsupported",
      `Family ${found.name} is supported as ${found.architectures.join(", ")}, not as ${architectures.join(", ")}.`,
      { do: "Use a causal language model.", data: { modelType: config.modelType, architectures } },
    );
  }
  return found;
}
