/**
 * How a call of an attempt is sampled. Training assumes plain sampling at one temperature; whatever else a harness asks
 * for would change the distribution behind the trainer's back, so it is not followed but recorded.
 */
import type { Sampling } from "../../src/schema/engine.ts";
import type { RolloutMode } from "../../src/schema/wire.ts";
import type { GatewayConfig } from "../config.ts";
import type { JsonObject, ModelCall, WantedSampling } from "../dialects/dialect.ts";

/** The settings used, and the harness's that were not, by their names on the wire. */
export interface SamplingDecision {
  sampling: Sampling;
  overridden: JsonObject;
}

const wireNames: Readonly<Record<keyof Sampling & keyof WantedSampling, string>> = {
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  minP: "min_p",
};

/** Less than any most likely token has in a vocabulary that exists: it alone is kept. */
const smallestTopP = 1e-9;

/** Plain sampling. */
const plain = { topP: 1, topK: 0, minP: 0 };

/**
 * Train mode: the configured temperature and no truncation. Val mode: the configured temperature, the harness's
 * truncation. Without an attempt (mode null): as the harness asks, temperature 1 where it does not.
 */
export function decideSampling(call: ModelCall, mode: RolloutMode | null, config: GatewayConfig): SamplingDecision {
  const { temperature = 1, topP = 1, topK = 0, minP = 0 } = call.sampling;
  // vLLM's clients say -1 for "keep all"; OpenAI's say top_p 0 for "the most likely token alone".
  const wanted = { temperature, topP: Math.max(smallestTopP, topP), topK: Math.max(0, topK), minP };
  const sampling =
    mode === "train"
      ? { temperature: config.trainTemperature, ...plain }
      : { ...wanted, temperature: mode === "val" ? config.valTemperature : temperature };
  const overridden = { ...call.ignored };
  for (const [field, wireName] of Object.entries(wireNames) as [keyof Sampling, string][]) {
    if (call.sampling[field] !== undefined && wanted[field] !== sampling[field])
      overridden[wireName] = call.body[wireName];
  }
  return { sampling, overridden };
}

/** Settings that change what a foreign model draws, and that training cannot follow; a seed makes a group's rollouts one. */
const distorting = ["frequency_penalty", "presence_penalty", "repetition_penalty", "logit_bias", "seed"];

/** As decideSampling, for a model that follows what the own one does not. */
export function decideForeignSampling(call: ModelCall, mode: RolloutMode, config: GatewayConfig): SamplingDecision {
  const dropped = Object.entries(call.ignored).filter(([name]) => mode === "train" && distorting.includes(name));
  return decideSampling({ ...call, ignored: Object.fromEntries(dropped) }, mode, config);
}

/** The body as the model got it: sampling settings as used, ignored ones left out. */
export function rewrittenBody(call: ModelCall, model: string, { sampling, overridden }: SamplingDecision): JsonObject {
  const kept = Object.entries(call.body).filter(([name]) => !(name in overridden));
  return { ...Object.fromEntries(kept), model, temperature: sampling.temperature };
}
