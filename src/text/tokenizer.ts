import { Tokenizer as HfTokenizer } from "@huggingface/tokenizers";
import { FormatError } from "../core/errors.ts";
import type { JsonObject, TokenizerFiles } from "../schema/tokenizer_files.ts";
import { bytesOfPiece } from "./byte_letters.ts";
import { type AddedToken, readAddedTokens, resolveSpecialTokens, type SpecialTokenName } from "./special_tokens.ts";

/** How ids become text. */
export interface DecodeOptions {
  /** Leave out tokens marked special. */
  skipSpecial?: boolean;
  /** The ids continue a text: a leading space that the tokenizer drops at the start of a text is kept. */
  continuation?: boolean;
}

/** Noncharacters that open no real text: as an added token they make what follows not the start of a text. */
const anchor = "\ufdee\ufdef\ufdee";

/**
 * A Hugging Face tokenizer.json. Ids are the truth: decoding never cleans up spaces, and ids the vocabulary does not
 * have (rows a model pads its embedding with) decode to nothing.
 */
export class Tokenizer {
  readonly name: string;
  readonly addedTokens: readonly AddedToken[];
  readonly specialTokens: Readonly<Partial<Record<SpecialTokenName, string>>>;
  private readonly full: HfTokenizer;
  private readonly json: JsonObject;
  private readonly config: JsonObject;
  private readonly specialIds: ReadonlySet<number>;
  /** A token that decodes to exactly its text: put before ids, it shows how they continue a text. */
  private readonly context: AddedToken | undefined;

  private constructor(files: TokenizerFiles, full: HfTokenizer, json: JsonObject, config: JsonObject) {
    this.name = files.name;
    this.full = full;
    this.json = json;
    this.config = config;
    this.addedTokens = readAddedTokens(json);
    this.specialTokens = resolveSpecialTokens(files, this.addedTokens);
    this.specialIds = new Set(this.addedTokens.filter((token) => token.special).map((token) => token.id));
    this.context = this.addedTokens.find((token) => this.decode([token.id]) === token.content);
  }

  /** @throws FormatError "tokenizer_json" when tokenizer.json is not one, or of a kind that is not supported */
  static load(files: TokenizerFiles): Tokenizer {
    const parts = ["normalizer", "pre_tokenizer", "post_processor", "decoder"];
    const model = files.tokenizer.model as JsonObject | undefined;
    if (typeof model?.vocab !== "object" || model.vocab === null) {
      throw tokenizerFault(files.name, "it has no model.vocab");
    }
    const json = {
      ...Object.fromEntries(parts.map((part) => [part, null])),
      ...files.tokenizer,
      added_tokens: readAddedTokens(files.tokenizer).length > 0 ? files.tokenizer.added_tokens : [],
    };
    const config = { unk_token: model.unk_token, ...files.tokenizerConfig, clean_up_tokenization_spaces: false };
    try {
      return new Tokenizer(files, new HfTokenizer(json, config), json, config);
    } catch (cause) {
      throw tokenizerFault(files.name, cause instanceof Error ? cause.message : String(cause), cause);
    }
  }

  /**
   * Ids of a text; added tokens in it are matched. `addSpecial` adds what the post-processor adds to a text of its own,
   * such as the token for its beginning.
   * @throws FormatError "text_unencodable" for a piece without an id where there is no unknown token
   */
  encode(text: string, options: { addSpecial?: boolean } = {}): number[] {
    const { ids, tokens } = this.full.encode(text, { add_special_tokens: options.addSpecial ?? false });
    return checkedIds(this.name, ids, tokens);
  }

  /** Text of ids; "" for none. */
  decode(ids: ArrayLike<number>, options: DecodeOptions = {}): string {
    const context = options.continuation ? this.context : undefined;
    const known: number[] = context ? [context.id] : [];
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] as number;
      const skipped = options.skipSpecial && this.isSpecial(id);
      if (!skipped && this.full.id_to_token(id) !== undefined) known.push(id);
    }
    if (known.length === 0) return "";
    return this.full.decode(known, { clean_up_tokenization_spaces: false }).slice(context?.content.length ?? 0);
  }

  /** The text as the normalizer leaves it. */
  normalize(text: string): string {
    return this.full.normalizer?.normalize(text) ?? text;
  }

  /** The id of a token by its exact text in the vocabulary. */
  idOf(token: string): number | undefined {
    return this.full.token_to_id(token);
  }

  /** The bytes that a token stands for within a text; those of a part of a character are no text by themselves. */
  tokenBytes(id: number): Uint8Array {
    const text = this.decode([id], { continuation: true });
    const bytes = text.includes("\ufffd") ? bytesOfPiece(this.full.id_to_token(id) ?? "") : null;
    return bytes ?? new TextEncoder().encode(text);
  }

  /** True for added tokens marked special. */
  isSpecial(id: number): boolean {
    return this.specialIds.has(id);
  }

  /**
   * A second tokenizer with the same vocabulary that matches only the added tokens kept by `keep`; the others are
   * ordinary text to it. `atStart` false: the text does not begin the string.
   */
  withAddedTokens(keep: (token: AddedToken) => boolean): (text: string, atStart: boolean) => number[] {
    const kept = new Set(this.addedTokens.filter(keep).map((token) => token.content));
    const listed = this.json.added_tokens as JsonObject[];
    const plain = new HfTokenizer(
      {
        ...this.json,
        model: { type: "BPE", vocab: {}, merges: [] },
        added_tokens: [
          ...listed.filter((token) => kept.has(token.content as string)),
          { id: 0, content: anchor, normalized: false, special: true },
        ],
      },
      this.config,
    );
    // The vocabulary is large and never changed by encoding, so both share it.
    plain.model = this.full.model;
    return (text, atStart) => {
      const anchored = !atStart && !text.includes(anchor);
      const { ids, tokens } = plain.encode(anchored ? anchor + text : text, { add_special_tokens: false });
      return checkedIds(this.name, ids, tokens).slice(anchored ? 1 : 0);
    };
  }
}

function checkedIds(name: string, ids: readonly (number | undefined)[], tokens: readonly string[]): number[] {
  return ids.map((id, i) => {
    if (id !== undefined) return id;
    throw new FormatError("text_unencodable", `${name}: no id for the piece ${JSON.stringify(tokens[i])}.`, {
      do: "Leave that text out, or use a tokenizer with an unknown token.",
      data: { piece: tokens[i] },
    });
  });
}

function tokenizerFault(name: string, reason: string, cause?: unknown): FormatError {
  return new FormatError("tokenizer_json", `${name}: tokenizer.json cannot be used: ${reason}.`, {
    do: "Save the tokenizer with a current version of transformers.",
    data: { name },
    cause,
  });
}
