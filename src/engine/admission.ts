import { ConfigError, LeydenError } from "../core/errors.ts";
import { mostLogitBiases } from "../infer/inference_plan.ts";
import type { EngineInfo, GenerateRequest } from "../schema/engine.ts";
import { baseAdapter } from "../schema/lora.ts";

/** Most alternatives reported per token. */
const mostTopLogprobs = 20;

/**
 * Checks a generation before it is queued.
 * @throws LeydenError "context_length_exceeded" (with the numbers in `data`), "token_out_of_range", "empty_prompt";
 *   ConfigError for sampling settings out of range.
 */
export function checkGenerate(request: GenerateRequest, info: Omit<EngineInfo, "version">): void {
  const length = request.promptIds.length;
  if (length === 0) {
    throw new LeydenError("empty_prompt", "The prompt has no tokens.", { do: "Send at least one token." });
  }
  if (length + 1 > info.contextLength) {
    throw new LeydenError(
      "context_length_exceeded",
      `The prompt has ${length} tokens; this model has room for ${info.contextLength - 1} and one reply token.`,
      {
        do: "Shorten the conversation, or serve a model with a longer context.",
        data: { promptTokens: length, contextLength: info.contextLength },
      },
    );
  }
  const bad = foreignId(request.promptIds, info.vocabSize);
  const forced = request.forcedIds && foreignId(request.forcedIds, info.vocabSize);
  if (bad !== undefined || forced !== undefined) {
    throw new LeydenError("token_out_of_range", `Token id ${bad ?? forced} is outside 0..${info.vocabSize - 1}.`, {
      do: "Encode with the tokenizer of this model.",
    });
  }
  checkSampling(request);
  checkAdjustments(request, info.vocabSize);
  checkAdapter(request.adapter, info.adapters ?? []);
}

/** The first id outside the vocabulary. A plain loop: prompts are long, and a function per id takes ten times as long. */
function foreignId(ids: ArrayLike<number>, vocabSize: number): number | undefined {
  for (let at = 0; at < ids.length; at++) {
    const id = ids[at] as number;
    if (id < 0 || id >= vocabSize) return id;
  }
  return undefined;
}

/** @throws LeydenError "adapter_unknown" for a name that is none of the engine's */
export function checkAdapter(name: string | undefined, known: readonly string[]): void {
  if (name === undefined || name === baseAdapter || known.includes(name)) return;
  const list = [...known, baseAdapter].map((n) => `"${n}"`).join(", ");
  throw new LeydenError("adapter_unknown", `This engine has no adapter "${name}".`, {
    do: `Use one of ${list}.`,
    data: { adapter: name, known },
  });
}

function checkSampling({ maxTokens, sampling }: GenerateRequest): void {
  const { temperature, topK, topP, minP } = sampling;
  const rules: [boolean, string][] = [
    [Number.isInteger(maxTokens) && maxTokens >= 1, `maxTokens must be an integer of at least 1, got ${maxTokens}`],
    [temperature >= 0 && temperature <= 100, `temperature must lie in 0..100, got ${temperature}`],
    [Number.isInteger(topK) && topK >= 0, `topK must be an integer of at least 0, got ${topK}`],
    [topP > 0 && topP <= 1, `topP must lie in (0, 1], got ${topP}`],
    [minP >= 0 && minP <= 1, `minP must lie in 0..1, got ${minP}`],
  ];
  const broken = rules.find(([holds]) => !holds);
  if (broken !== undefined) throw new ConfigError(`${broken[1]}.`, { do: "Change the sampling settings." });
}

function checkAdjustments({ adjustments = {}, topLogprobs = 0 }: GenerateRequest, vocab: number): void {
  const { frequencyPenalty = 0, presencePenalty = 0, repetitionPenalty = 1, logitBias = [] } = adjustments;
  const wrongBias = logitBias.find(([id, bias]) => !isTokenId(id, vocab) || !Number.isFinite(bias));
  const ids = new Set(logitBias.map(([id]) => id));
  const rules: [boolean, string][] = [
    [Number.isFinite(frequencyPenalty), `frequencyPenalty must be finite, got ${frequencyPenalty}`],
    [Number.isFinite(presencePenalty), `presencePenalty must be finite, got ${presencePenalty}`],
    [
      repetitionPenalty > 0 && Number.isFinite(repetitionPenalty),
      `repetitionPenalty must be more than 0, got ${repetitionPenalty}`,
    ],
    [logitBias.length <= mostLogitBiases, `logitBias takes ${mostLogitBiases} tokens at most, got ${logitBias.length}`],
    [
      wrongBias === undefined,
      `logitBias needs ids of 0..${vocab - 1} with finite biases, got ${wrongBias?.join(": ")}`,
    ],
    [ids.size === logitBias.length, "logitBias names a token more than once"],
    [
      Number.isInteger(topLogprobs) && topLogprobs >= 0 && topLogprobs <= mostTopLogprobs,
      `topLogprobs must be an integer of 0..${mostTopLogprobs}, got ${topLogprobs}`,
    ],
  ];
  const broken = rules.find(([holds]) => !holds);
  if (broken !== undefined) throw new ConfigError(`${broken[1]}.`, { do: "Change the sampling settings." });
}

function isTokenId(id: number, vocab: number): boolean {
  return Number.isInteger(id) && id >= 0 && id < vocab;
}

/** The error of a generation whose id is taken. */
export function duplicateRequest(id: string): LeydenError {
  const message = `A generation with id "${id}" is in flight.`;
  return new LeydenError("duplicate_request", message, { do: "Use a new id for each generation." });
}

/** The error of every call to an engine that is closed. */
export function closedError(): LeydenError {
  return new LeydenError("engine_closed", "The engine is closed.", { do: "Open a new one." }, 2);
}
