/**
 * Token ids inside a model's JSON reply. They are the bulk of a reply, grow with the prompt, and are stored as tokens
 * already; so the stored JSON has null in their places.
 */
import type { CallTokens } from "../schema/store.ts";

/** Where token ids stand: `prompt_token_ids`, `choices[0].prompt_token_ids`, `choices[0].token_ids`. */
export type TokenPlace = "prompt" | "choice_prompt" | "choice_reply";

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSame(value: unknown, ids: Int32Array): boolean {
  return Array.isArray(value) && value.length === ids.length && value.every((id, at) => id === ids[at]);
}

function withKey(object: JsonObject, key: string, value: unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, old]) => [name, name === key ? value : old]));
}

function firstChoice(response: JsonObject): JsonObject | null {
  const choice: unknown = Array.isArray(response.choices) ? response.choices[0] : null;
  return isObject(choice) ? choice : null;
}

function withChoice(response: JsonObject, choice: JsonObject): JsonObject {
  const choices = [choice, ...(response.choices as unknown[]).slice(1)];
  return withKey(response, "choices", choices);
}

/** The reply with null where it repeats `tokens`, and the places. */
export function cutTokens(response: unknown, tokens: CallTokens): { response: unknown; places: TokenPlace[] } {
  if (!isObject(response)) return { response, places: [] };
  const places: TokenPlace[] = [];
  let out = response;
  if (isSame(out.prompt_token_ids, tokens.promptIds)) {
    out = withKey(out, "prompt_token_ids", null);
    places.push("prompt");
  }
  let choice = firstChoice(out);
  if (choice && isSame(choice.prompt_token_ids, tokens.promptIds)) {
    choice = withKey(choice, "prompt_token_ids", null);
    places.push("choice_prompt");
  }
  if (choice && isSame(choice.token_ids, tokens.replyIds)) {
    choice = withKey(choice, "token_ids", null);
    places.push("choice_reply");
  }
  return { response: choice && choice !== firstChoice(out) ? withChoice(out, choice) : out, places };
}

/** The reply as it was before cutTokens. */
export function restoreTokens(response: unknown, places: readonly TokenPlace[], tokens: CallTokens): unknown {
  if (places.length === 0 || !isObject(response)) return response;
  let out = response;
  if (places.includes("prompt")) out = withKey(out, "prompt_token_ids", [...tokens.promptIds]);
  let choice = firstChoice(out);
  if (choice && places.includes("choice_prompt")) choice = withKey(choice, "prompt_token_ids", [...tokens.promptIds]);
  if (choice && places.includes("choice_reply")) choice = withKey(choice, "token_ids", [...tokens.replyIds]);
  return choice ? withChoice(out, choice) : out;
}

/**
 * An own model's reply with the ids and logprobs that a trainer reads, where the harness had not asked for them:
 * `prompt_token_ids`, and of the first choice `token_ids` and `logprobs.content[].logprob`. A reply of a dialect
 * without choices gets one that holds nothing else.
 */
export function withTokens(response: unknown, tokens: CallTokens): unknown {
  if (!isObject(response)) return response;
  const choice = firstChoice(response) ?? { index: 0 };
  const content = () =>
    Array.from(tokens.logprobs, (logprob) => ({ token: "", logprob, bytes: null, top_logprobs: [] }));
  const whole = {
    ...choice,
    token_ids: choice.token_ids ?? [...tokens.replyIds],
    logprobs: choice.logprobs ?? { content: content(), refusal: null },
  };
  const prompt = response.prompt_token_ids ?? choice.prompt_token_ids ?? [...tokens.promptIds];
  const others = Array.isArray(response.choices) ? response.choices.slice(1) : [];
  return { ...response, choices: [whole, ...others], prompt_token_ids: prompt };
}
