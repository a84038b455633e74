import { FormatError } from "../core/errors.ts";
import type { AddedToken } from "./special_tokens.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A stretch of a rendered string without genuine control tokens, or one such token. */
interface Span {
  start: number;
  end: number;
  /** Holds a look-alike, so no control token may be matched in it. */
  guarded: boolean;
  token: AddedToken | null;
}

/**
 * Encodes rendered templates so that control tokens (special tokens and the template's own markup) come only from the
 * template. Texts of a request go through `mark` before rendering: an invisible mark then stands at everything in them
 * that spells a control token. A rendered string without marks is encoded as a whole; around a mark, the stretch up to
 * the nearest genuine control tokens is encoded by a tokenizer that does not know any. Ids therefore differ from those
 * of the whole string only where a text spells a control token.
 */
export class GuardedEncoder {
  private readonly tokenizer: Tokenizer;
  /** Control tokens by content, longest first, so that a scan takes the longest. */
  private readonly control: readonly AddedToken[];
  private readonly pattern: RegExp | null;
  private readonly heads: ReadonlySet<string>;
  private readonly tails: ReadonlySet<string>;
  private readonly plain: (text: string, atStart: boolean) => number[];

  /** `markup`: texts in which an added token that is not marked special counts as control (template, tool format). */
  constructor(tokenizer: Tokenizer, markup: readonly string[]) {
    this.tokenizer = tokenizer;
    const isControl = (token: AddedToken) =>
      token.special || (/\S/.test(token.content) && markup.some((text) => text.includes(token.content)));
    this.control = tokenizer.addedTokens.filter(isControl).sort((a, b) => b.content.length - a.content.length);
    const contents = this.control.map((token) => token.content);
    this.pattern = contents.length > 0 ? new RegExp(contents.map(escapeRegExp).join("|"), "g") : null;
    this.heads = new Set(contents.flatMap((c) => range(2, c.length).map((n) => c.slice(0, n))));
    this.tails = new Set(contents.flatMap((c) => range(1, c.length - 1).map((n) => c.slice(n))));
    this.plain = tokenizer.withAddedTokens((token) => !isControl(token));
  }

  /**
   * The text with the mark before everything that spells a control token, at a beginning that could complete one, and
   * inside an end that could begin one.
   */
  mark(text: string, mark: string): string {
    if (!this.pattern || text === "") return text;
    const lengths = range(2, Math.min(this.control[0]?.content.length ?? 0, text.length + 1));
    const completes = lengths.some((n) => this.tails.has(text.slice(0, n))) || this.spellsWhenNormalized(text);
    const begins = lengths.some((n) => this.heads.has(text.slice(-n)));
    const ended = begins ? text.slice(0, -1) + mark + text.slice(-1) : text;
    return (completes ? mark : "") + ended.replace(this.pattern, (found) => mark + found);
  }

  /** Tokens that are matched in normalised text can be spelt in more ways than their own. */
  private spellsWhenNormalized(text: string): boolean {
    if (!this.control.some((token) => token.normalized)) return false;
    const normalized = this.tokenizer.normalize(text);
    return normalized !== text && this.control.some((token) => token.normalized && normalized.includes(token.content));
  }

  /**
   * Ids of a rendered string. `after`: the control token that precedes it, already encoded.
   * @throws FormatError "text_unencodable"
   */
  encode(rendered: string, mark: string, after: AddedToken | null): number[] {
    const anchor = after?.content ?? "";
    const { text, positions } = removeMarks(anchor + rendered, mark);
    const ids = positions.length === 0 ? this.tokenizer.encode(text) : this.encodeSpans(text, positions);
    return after ? ids.slice(1) : ids;
  }

  /** The first control token of some ids that the template wrote into a marked string, and where it begins. */
  findControl(
    rendered: string,
    mark: string,
    ids: ReadonlySet<number> | null,
  ): { token: AddedToken; at: number } | null {
    for (const found of this.pattern ? rendered.matchAll(this.pattern) : []) {
      const token = this.control.find((candidate) => candidate.content === found[0]);
      if (!token || rendered[found.index - 1] === mark) continue;
      if (!ids || ids.has(token.id)) return { token, at: found.index };
    }
    return null;
  }

  private encodeSpans(text: string, positions: readonly number[]): number[] {
    const spans = this.spans(text, positions);
    const ids: number[] = [];
    let open = 0;
    for (const [i, span] of spans.entries()) {
      if (!span.guarded) continue;
      if (span.start > open) ids.push(...this.tokenizer.encode(text.slice(open, span.start)));
      const before = spans[i - 1]?.token;
      const behind = spans[i + 1]?.token;
      let body = text.slice(span.start, span.end);
      if (before?.rstrip) body = body.trimStart();
      if (behind?.lstrip) body = body.trimEnd();
      ids.push(...this.encodePlain(body, span.start === 0));
      open = span.end;
    }
    if (open < text.length) ids.push(...this.tokenizer.encode(text.slice(open)));
    return ids;
  }

  /** Genuine control tokens and the stretches between them. */
  private spans(text: string, positions: readonly number[]): Span[] {
    const spans: Span[] = [];
    let start = 0;
    const close = (end: number) => {
      if (end > start) spans.push({ start, end, guarded: positions.some((p) => p >= start && p <= end), token: null });
    };
    for (const found of text.matchAll(this.pattern as RegExp)) {
      const end = found.index + found[0].length;
      if (positions.some((p) => p >= found.index && p < end)) continue;
      close(found.index);
      const token = this.control.find((candidate) => candidate.content === found[0]) ?? null;
      spans.push({ start: found.index, end, guarded: false, token });
      start = end;
    }
    close(text.length);
    return spans;
  }

  /** Ids of a text that may spell control tokens, none of which come out, even where the vocabulary itself has them. */
  private encodePlain(text: string, atStart: boolean): number[] {
    const ids = this.plain(text, atStart);
    const spelled = this.control.find((token) => ids.includes(token.id) && text.includes(token.content));
    if (!spelled) return ids;
    const cut = text.indexOf(spelled.content) + 1;
    if (spelled.content.length < 2) {
      throw new FormatError(
        "text_unencodable",
        `The text "${spelled.content}" can only be written as a control token.`,
        {
          do: "Leave that text out of the messages.",
          data: { piece: spelled.content },
        },
      );
    }
    return [...this.encodePlain(text.slice(0, cut), atStart), ...this.encodePlain(text.slice(cut), false)];
  }
}

/** The string without marks, and where they stood in it. */
function removeMarks(marked: string, mark: string): { text: string; positions: number[] } {
  const pieces = marked.split(mark);
  const positions: number[] = [];
  let length = 0;
  for (const piece of pieces.slice(0, -1)) {
    length += piece.length;
    positions.push(length);
  }
  return { text: pieces.join(""), positions };
}

/** Integers from `start` up to but not including `end`. */
function range(start: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, i) => start + i);
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
