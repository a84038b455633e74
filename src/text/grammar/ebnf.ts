/** A text as a literal of EBNF. */
export function literal(text: string): string {
  return JSON.stringify(text);
}

/** Tokens of EBNF: literals, character classes, names, and anything else by one character. */
const token = /"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[A-Za-z_][A-Za-z0-9_]*|[\s\S]/g;

/** Rules under names that begin with `prefix`, so that several grammars can stand in one; its root is `${prefix}root`. */
export function prefixRules(grammar: string, prefix: string): string {
  return grammar.replace(token, (piece) => (/^[A-Za-z_]/.test(piece) ? `${prefix}${piece}` : piece));
}
