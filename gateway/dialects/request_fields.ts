/** Fields that the wire formats share, read and checked. Null counts as absent, as harnesses send it so. */
import { ApiError } from "../http/errors.ts";
import type { JsonObject } from "./dialect.ts";

/** A refusal of the field `param`. */
export function invalid(param: string, message: string): ApiError {
  return new ApiError(400, "invalid_value", message, { param });
}

/** A number in [min, max]. @throws ApiError 400 */
export function number(body: JsonObject, name: string, min: number, max: number): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && value >= min && value <= max) return value;
  const range = max === Number.POSITIVE_INFINITY ? `at least ${min}` : `between ${min} and ${max}`;
  throw invalid(name, `Invalid '${name}': expected a number ${range}, got ${JSON.stringify(value)}.`);
}

/** A whole number in [min, max]. @throws ApiError 400 */
export function integer(
  body: JsonObject,
  name: string,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const value = number(body, name, min, Number.POSITIVE_INFINITY);
  if (value === undefined || (Number.isInteger(value) && value <= max)) return value;
  throw invalid(
    name,
    `Invalid '${name}': expected a whole number from ${min} to ${max}, got ${JSON.stringify(value)}.`,
  );
}

/** Biases by token id, as OpenAI writes them: `{"50256": -100}`. @throws ApiError 400 */
export function logitBias(body: JsonObject, name: string): readonly (readonly [number, number])[] | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  const entries = typeof value === "object" && !Array.isArray(value) ? Object.entries(value as JsonObject) : null;
  const pairs = entries?.map(([id, bias]) => [Number(id), bias] as const);
  const isGood = pairs?.every(
    ([id, bias]) => Number.isInteger(id) && id >= 0 && typeof bias === "number" && Math.abs(bias) <= 100,
  );
  if (pairs && isGood) return pairs.length === 0 ? undefined : (pairs as [number, number][]);
  throw invalid(name, `Invalid '${name}': expected biases from -100 to 100 by token id.`);
}

/** Texts that end a reply: one, a list, or none; empty ones end nothing. @throws ApiError 400 */
export function stopTexts(body: JsonObject, name: string): string[] {
  const stop = body[name];
  if (stop === undefined || stop === null) return [];
  const texts = typeof stop === "string" ? [stop] : stop;
  if (Array.isArray(texts) && texts.every((text) => typeof text === "string"))
    return texts.filter((text) => text !== "");
  throw invalid(name, `Invalid '${name}': expected a text or a list of texts.`);
}
