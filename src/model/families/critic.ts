import type { DecoderDescription } from "../decoder.ts";
import type { Family } from "./family.ts";

const causal = /ForCausalLM$|LMHeadModel$/;

/** Name that transformers gives a causal architecture with a head of labels: one label is a value. */
export function criticArchitecture(architecture: string): string {
  return architecture.replace(causal, "ForTokenClassification");
}

/** True when `architecture` is a family's decoder with a head of labels. */
export function isCriticArchitecture(architecture: string, family: Family): boolean {
  return family.architectures.some((a) => causal.test(a) && criticArchitecture(a) === architecture);
}

/** The decoder below the head, as the family describes it: a tied head has no tensor of its own. */
function trunk(d: DecoderDescription): DecoderDescription {
  return { ...d, tiedHead: true };
}

/**
 * A family's critics: the same decoder with a value head (1,C) and its bias in place of the language head. Names as in
 * transformers' LlamaForTokenClassification with one label.
 */
export function criticOf(family: Family): Family {
  return {
    ...family,
    architectures: family.architectures.map(criticArchitecture),
    describe: (config) => ({ ...family.describe(config), tiedHead: false, headRows: 1 }),
    tensors: (d) => [
      ...family.tensors(trunk(d)),
      { name: "score.weight", shape: [1, d.width], parameter: "head", offset: 0 },
      { name: "score.bias", shape: [1], parameter: "head.bias", offset: 0 },
    ],
    isRedundant: (name, d) => family.isRedundant(name, trunk(d)),
  };
}
