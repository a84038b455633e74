import { z } from "zod";

/** Integers as lenient clients send them: 3, 3.0, "3" or true. */
export const lenientInteger: z.ZodType<number> = z.preprocess((value) => {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "string" && /^\s*[+-]?\d+\s*$/.test(value) ? Number(value) : value;
}, z.int());

const trueWords = new Set(["true", "t", "yes", "y", "on", "1"]);
const falseWords = new Set(["false", "f", "no", "n", "off", "0"]);

/** Booleans as lenient clients send them: true, 1, 0, "yes", "off". */
export const lenientBoolean: z.ZodType<boolean> = z.preprocess((value) => {
  const word = typeof value === "number" || typeof value === "string" ? String(value).toLowerCase() : "";
  if (trueWords.has(word)) return true;
  return falseWords.has(word) ? false : value;
}, z.boolean());
