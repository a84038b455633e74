import type { DecodeOptions, Tokenizer } from "./tokenizer.ts";

/** What the last bytes decode to as long as their character is not complete. */
const replacement = "\ufffd";

/**
 * Text of ids as they arrive. A character whose bytes are spread over tokens is held back until it is complete, so no
 * piece ends in a broken one; all pieces and the flush together are the text of all ids.
 */
export class IncrementalDecoder {
  private readonly tokenizer: Tokenizer;
  private readonly options: DecodeOptions;
  /** The latest ids: some whose text is out, as context, then those still to come out. */
  private ids: number[] = [];
  /** How many of `ids` are context, and their text. */
  private contextIds = 0;
  private contextText = "";
  /** Characters after the context's text that are out already. */
  private emitted = 0;

  constructor(tokenizer: Tokenizer, options: DecodeOptions = {}) {
    this.tokenizer = tokenizer;
    this.options = options;
  }

  /** The text that this id makes certain; often of several ids at once, sometimes "". */
  push(id: number): string {
    this.ids.push(id);
    const text = this.tokenizer.decode(this.ids, this.options);
    // Some decoders rewrite the end of what came before; nothing is certain then.
    if (!text.startsWith(this.contextText)) return "";
    const complete = !text.endsWith(replacement);
    const from = this.contextText.length + this.emitted;
    const piece = text.slice(from, complete ? text.length : text.length - 1);
    if (complete) {
      this.ids = this.ids.slice(this.contextIds);
      this.contextIds = this.ids.length;
      this.contextText = this.tokenizer.decode(this.ids, this.options);
      this.emitted = 0;
    } else {
      this.emitted += piece.length;
    }
    return piece;
  }

  /** What was held back, broken characters as U+FFFD; the decoder then starts anew. */
  flush(): string {
    const text = this.tokenizer.decode(this.ids, this.options);
    const rest = text.startsWith(this.contextText) ? text.slice(this.contextText.length + this.emitted) : "";
    this.ids = [];
    this.contextIds = 0;
    this.contextText = "";
    this.emitted = 0;
    return rest;
  }
}
