import type { JsonObject, TokenizerFiles } from "../schema/tokenizer_files.ts";

/** A token that the tokenizer matches in text before anything else. */
export interface AddedToken {
  id: number;
  content: string;
  /** Whitespace on that side is swallowed with the token. */
  lstrip: boolean;
  rstrip: boolean;
  /** Matched in the text as the normalizer leaves it. */
  normalized: boolean;
  /** Left out by `skipSpecial` decoding. */
  special: boolean;
}

/** Names of the roles a special token can have, as templates use them. */
export type SpecialTokenName =
  | "bos_token"
  | "eos_token"
  | "pad_token"
  | "unk_token"
  | "sep_token"
  | "cls_token"
  | "mask_token";

const names: readonly SpecialTokenName[] = [
  "bos_token",
  "eos_token",
  "pad_token",
  "unk_token",
  "sep_token",
  "cls_token",
  "mask_token",
];

/** Added tokens of a parsed tokenizer.json; entries without an id or content are left out. */
export function readAddedTokens(tokenizer: JsonObject): AddedToken[] {
  if (!Array.isArray(tokenizer.added_tokens)) return [];
  return tokenizer.added_tokens.flatMap((value: JsonObject) =>
    typeof value?.content === "string" && value.content !== "" && Number.isSafeInteger(value.id)
      ? [
          {
            id: value.id as number,
            content: value.content,
            lstrip: value.lstrip === true,
            rstrip: value.rstrip === true,
            normalized: typeof value.normalized === "boolean" ? value.normalized : value.special !== true,
            special: value.special === true,
          },
        ]
      : [],
  );
}

/**
 * Which token has which role: as tokenizer_config.json or special_tokens_map.json says; else by the ids of
 * generation_config.json and config.json; else an added token of the customary form, such as `<sep>` or `[SEP]`.
 */
export function resolveSpecialTokens(
  files: TokenizerFiles,
  added: readonly AddedToken[],
): Partial<Record<SpecialTokenName, string>> {
  const out: Partial<Record<SpecialTokenName, string>> = {};
  for (const name of names) {
    const content =
      tokenText(files.tokenizerConfig?.[name]) ??
      tokenText(files.specialTokensMap?.[name]) ??
      byId(files, name, added) ??
      byCustom(name, added);
    if (content !== undefined) out[name] = content;
  }
  return out;
}

/** A role's token is written as its text or as an object around it. */
function tokenText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const content = (value as { content?: unknown } | null | undefined)?.content;
  return typeof content === "string" ? content : undefined;
}

function byId(files: TokenizerFiles, name: SpecialTokenName, added: readonly AddedToken[]): string | undefined {
  for (const config of [files.generationConfig, files.modelConfig]) {
    const value = config?.[`${name}_id`];
    const id = Array.isArray(value) ? value[0] : value;
    const found = added.find((token) => token.id === id);
    if (found) return found.content;
  }
  return undefined;
}

function byCustom(name: SpecialTokenName, added: readonly AddedToken[]): string | undefined {
  const stem = name.slice(0, 3);
  const forms = [`<${name.slice(0, -6)}>`, `<${stem}>`, `[${stem}]`, `[${name.slice(0, -6)}]`];
  return added.find((token) => token.special && forms.includes(token.content.toLowerCase()))?.content;
}
