import { z } from "zod";
import { ConfigError } from "../../core/errors.ts";
import type { Files } from "../../schema/files.ts";

const answersSchema = z.record(z.string(), z.union([z.string(), z.number()]));

/** Answers by exercise from a JSON file. @throws ConfigError when it holds anything else */
export async function readAnswers(files: Files, path: string): Promise<Record<string, string>> {
  let value: unknown;
  try {
    value = JSON.parse(await files.readText(path));
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new ConfigError(`${path} is not JSON: ${cause.message}.`, { do: "Correct it.", cause });
  }
  const parsed = answersSchema.safeParse(value);
  if (!parsed.success) {
    throw new ConfigError(`${path} does not hold answers by exercise.`, {
      do: 'Write an object such as {"lastReward": "0.9", "whatLearns": "itsWeights"}.',
    });
  }
  return Object.fromEntries(Object.entries(parsed.data).map(([key, answer]) => [key, String(answer)]));
}
