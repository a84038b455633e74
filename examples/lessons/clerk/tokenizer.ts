/** Makes the model folder but for its weights: `node examples/lessons/clerk/tokenizer.ts [FOLDER]`. */
import { numberWords } from "../../toy/number_words.ts";
import { type WordModelShape, writeWordModel } from "../../toy/word_model.ts";

/**
 * The vocabulary after the special tokens. A number of two digits is one token, but its digits are tokens too: " 42" may
 * also be written " 4" and "2". Whoever encodes the text again gets the first form, whichever was sampled.
 */
export const words: readonly string[] = [
  ...["\n", "user", "assistant", "sum", "from", "take", "double", "use", "used", "result", "answer", "well"],
  ...[" of", " and", " from", " take", " plus", " minus", " error", " answer", " well"],
  ...numberWords(0, 9),
  ...numberWords(0, 99, " "),
];

/** Width 64, two layers of two heads: some 90,000 parameters. */
export const shape: WordModelShape = { layers: 2, heads: 2, headDim: 32, intermediate: 128 };

if (import.meta.main) writeWordModel(words, process.argv[2] ?? new URL("./model", import.meta.url), shape);
