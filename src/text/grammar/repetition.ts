/**
 * How large a regular expression or an EBNF grammar becomes once its counts are written out. The grammar library keeps
 * one count as a count, and writes out those within which others stand: three nested counts of a thousand are a billion
 * parts, and it does not return.
 */

/** Parts that an expression may have when its nested counts are written out; more compile for seconds. */
const mostParts = 10_000;
/** Groups and repetitions of one expression: the library's time grows faster than their square. */
const mostMarks = 400;

/** Something that can be repeated. */
interface Piece {
  /** Parts with innermost counts kept as counts. */
  readonly kept: number;
  /** Parts with every count written out. */
  readonly full: number;
  readonly isCounted: boolean;
}

const nothing: Piece = { kept: 0, full: 0, isCounted: false };
const one: Piece = { kept: 1, full: 1, isCounted: false };

function joined(a: Piece, b: Piece): Piece {
  return { kept: a.kept + b.kept, full: a.full + b.full, isCounted: a.isCounted || b.isCounted };
}

function repeated({ kept, full, isCounted }: Piece, count: number): Piece {
  return { kept: isCounted ? full * count : kept, full: full * count, isCounted: true };
}

/** Parts of a regular expression: escapes, classes, groups with their marks, counts, and single characters. */
const regexPart = /\\(?:[pPuxk]\{[^}]*\}|[\s\S])|\[(?:[^\]\\]|\\.)*\]|\((?:\?[:=!<]*)?|\)|\{\d*(?:,\d*)?\}|[\s\S]/g;
/** Parts of EBNF: texts, classes, names with what assigns them, comments, groups, counts, and single characters. */
const ebnfPart =
  /"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|#[^\n]*|[A-Za-z_][\w.-]*\s*::=|[A-Za-z_][\w.-]*|\(|\)|\{\s*\d*\s*(?:,\s*\d*\s*)?\}|[\s\S]/g;

/** How often a count repeats at most; an open one is written out as often as it must come. */
function countOf(text: string): number {
  const [least = "", most = least] = text.slice(1, -1).split(",");
  return Math.max(1, Number(least), Number(most));
}

function sizeOf(text: string, part: RegExp): { parts: number; marks: number } {
  const open: Piece[] = [];
  let sum = nothing;
  let last = nothing;
  let marks = 0;
  const push = (piece: Piece): void => {
    sum = joined(sum, last);
    last = piece;
  };
  for (const [token] of text.matchAll(part)) {
    if (/^(?:\(|[?*+]$|\{\s*[\d,])/.test(token)) marks++;
    if (token.startsWith("(")) {
      push(nothing);
      open.push(sum);
      sum = nothing;
    } else if (token === ")") {
      const group = joined(sum, last);
      sum = open.pop() ?? nothing;
      last = group;
    } else if (/^\{\s*[\d,]/.test(token)) last = repeated(last, countOf(token));
    else if (!/^(?:[?*+|^$\s]|#[\s\S]*|[\s\S]*::=)$/.test(token)) push(one);
  }
  while (open.length > 0) sum = joined(sum, open.pop() ?? nothing);
  return { parts: joined(sum, last).kept, marks };
}

function faultOf({ parts, marks }: { parts: number; marks: number }): string | null {
  if (parts > mostParts) {
    const count = parts > 1e15 ? "more than 10^15" : String(parts);
    return `repeats what is itself repeated: ${count} parts when written out, more than ${mostParts}`;
  }
  return marks > mostMarks ? `has ${marks} groups and repetitions, more than ${mostMarks}` : null;
}

/** What makes a regular expression too large, as the end of a sentence; null for one that is not. */
export function regexTooLarge(pattern: string): string | null {
  return faultOf(sizeOf(pattern, regexPart));
}

/** What makes an EBNF grammar too large, as the end of a sentence; null for one that is not. */
export function ebnfTooLarge(grammar: string): string | null {
  return faultOf(sizeOf(grammar, ebnfPart));
}
