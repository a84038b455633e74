/** Makes the model folder but for its weights: `node examples/team/tokenizer.ts [FOLDER]`. */
import { numberWords } from "../toy/number_words.ts";
import { writeWordModel } from "../toy/word_model.ts";
import { itemNames } from "./messages.ts";

/** The vocabulary after the special tokens. A blank belongs to the word behind it, so a name and its number adjoin. */
export const words: readonly string[] = [
  ...["\n", "user", "assistant", "report", "known", "find", "box", "in", "got", "ask", "open", "say", "done"],
  ...[" none", " empty"],
  ...itemNames.map((item) => ` ${item}`),
  ...numberWords(0, 99, " "),
];

if (import.meta.main) writeWordModel(words, process.argv[2] ?? new URL("./model", import.meta.url));
