/**
 * How a call of an attempt is sampled. Training assumes plain sampling at one temperature; whatever else a harness asks
 * for would change the distribution behind the trainer's back, so it is not followed but recorded.
 */
import type { LogitAdjustments, Sampling } from "../../src/schema/engine.ts";
import type { RolloutMode } from "../../src/schema/wire.ts";
import type { GatewayConfig } from "../config.ts";
import type { JsonObject, ModelCall, WantedSampling } from "../dialects/dialect.ts";

/** The settings used, and the harness's that were not, by their names on the wire. */
export interface SamplingDecision {
  sampling: Sampling;
  /** Penalties and bias; empty where none is followed. */
  adjustments: LogitAdjustments;
  overridden: JsonObject;
}

type Settings = Sampling & LogitAdjustments;

const wireNames: Readonly<Record<keyof WantedSampling, string>> = {
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  minP: "min_p",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  repetitionPenalty: "repetition_penalty",
  logitBias: "logit_bias",
};

/** Less than any most likely token has in a vocabulary that exists: it alone is kept. */
const smallestTopP = 1e-9;

/** Plain sampling. */
const plain = { topP: 1, topK: 0, minP: 0 };

/** What a harness asks for, its gaps filled; penalties and bias that change nothing are left out. */
function wantedSampling({ temperature = 1, topP = 1, topK = 0, minP = 0, ...shifts }: WantedSampling): Settings {
  const { frequencyPenalty = 0, presencePenalty = 0, repetitionPenalty = 1, logitBias = [] } = shifts;
  return {
    temperature,
    // vLLM's clients say -1 for "keep all"; OpenAI's say top_p 0 for "the most likely token alone".
    topP: Math.max(smallestTopP, topP),
    topK: Math.max(0, topK),
    minP,
    ...(frequencyPenalty === 0 ? {} : { frequencyPenalty }),
    ...(presencePenalty === 0 ? {} : { presencePenalty }),
    ...(repetitionPenalty === 1 ? {} : { repetitionPenalty }),
    ...(logitBias.length === 0 ? {} : { logitBias }),
  };
}

/**
 * Train mode: the configured temperature, the distribution otherwise the model's own. Val mode: the configured
 * temperature, the rest as the harness asks. Mode null, of calls that no trainer reads: as the harness asks, temperature
 * 1 where it does not.
 */
export function decideSampling(call: ModelCall, mode: RolloutMode | null, config: GatewayConfig): SamplingDecision {
  const wanted = wantedSampling(call.sampling);
  const used: Settings =
    mode === "train"
      ? { temperature: config.trainTemperature, ...plain }
      : { ...wanted, temperature: mode === "val" ? config.valTemperature : wanted.temperature };
  const overridden = { ...call.ignored };
  for (const [field, wireName] of Object.entries(wireNames) as [keyof WantedSampling, string][]) {
    if (call.sampling[field] !== undefined && wanted[field] !== used[field])
      overridden[wireName] = call.body[wireName] ?? call.sampling[field];
  }
  const { temperature, topP, topK, minP, ...adjustments } = used;
  return { sampling: { temperature, topP, topK, minP }, adjustments, overridden };
}

/** As decideSampling, for a model that follows a seed too; in train mode one would make a group's rollouts one. */
export function decideForeignSampling(
  call: ModelCall,
  mode: RolloutMode | null,
  config: GatewayConfig,
): SamplingDecision {
  return decideSampling({ ...call, ignored: mode === "train" ? call.ignored : {} }, mode, config);
}

/** The body as the model got it: sampling settings as used, ignored ones left out. */
export function rewrittenBody(call: ModelCall, model: string, { sampling, overridden }: SamplingDecision): JsonObject {
  const kept = Object.entries(call.body).filter(([name]) => !(name in overridden));
  return { ...Object.fromEntries(kept), model, temperature: sampling.temperature };
}
