/** One source file: its path from the repository's root and its text. */
export interface SourceFile {
  path: string;
  text: string;
}

/** One import of a file. */
export interface ImportRecord {
  specifier: string;
  line: number;
  typeOnly: boolean;
}

/** What a character of source text belongs to. */
type Kind = "code" | "comment" | "literal";

/** A regular expression literal starts where no value has just ended. */
const beforePattern = /(^|[(,=:[!&|?{};+<>~^%*-]|\b(return|typeof|case|in|of|await|void))\s*$/;
const pattern = /\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y;
const quoted = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/y;
const comment = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y;
const templateText = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])+/y;

function lengthAt(expression: RegExp, text: string, index: number): number {
  expression.lastIndex = index;
  return expression.exec(text)?.[0].length ?? 0;
}

/** Where a piece of text between code begins and ends, if one begins at `index`; `code` is the end of the code before it. */
function literalAt(text: string, index: number, code: string): [Kind, number] {
  const commentLength = lengthAt(comment, text, index);
  if (commentLength > 0) return ["comment", commentLength];
  const quotedLength = lengthAt(quoted, text, index);
  if (quotedLength > 0) return ["literal", quotedLength];
  if (text[index] === "/" && beforePattern.test(code)) return ["literal", lengthAt(pattern, text, index)];
  return ["code", 0];
}

/** Cuts source text into code, comments and literals; what stands in a template's ${} is code. */
function* pieces(text: string): Generator<[Kind, string]> {
  // One entry per open template: how many braces are open in its current ${}, or "text" between those.
  const templates: (number | "text")[] = [];
  const enter = (state: number | "text") => {
    templates[templates.length - 1] = state;
  };
  let code = "";
  for (let i = 0; i < text.length; ) {
    const inside = templates.at(-1);
    const char = text[i];
    let [kind, length]: [Kind, number] = ["literal", 1];
    if (inside === "text") {
      length = lengthAt(templateText, text, i) || (char === "`" ? 1 : 2);
      if (char === "`") templates.pop();
      else if (text.startsWith("${", i)) enter(0);
    } else if (char === "`") templates.push("text");
    else if (inside === 0 && char === "}") enter("text");
    else {
      [kind, length] = literalAt(text, i, code);
      length ||= 1;
      if (inside !== undefined && kind === "code" && char === "{") enter(inside + 1);
      if (inside !== undefined && kind === "code" && char === "}") enter(inside - 1);
    }
    const piece = text.slice(i, i + length);
    if (kind !== "comment") code = `${code}${kind === "code" ? piece : "x"}`.slice(-40);
    yield [kind, piece];
    i += length;
  }
}

/** The text with the pieces of these kinds blanked; lines stay where they are. */
function without(text: string, kinds: readonly Kind[]): string {
  let out = "";
  for (const [kind, piece] of pieces(text)) out += kinds.includes(kind) ? piece.replace(/[^\n]/g, " ") : piece;
  return out;
}

/** The text without comments and literals; what stands in a template's ${} stays. */
export function codeOnly(text: string): string {
  return without(text, ["comment", "literal"]);
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

const statement = /^[ \t]*(?:import|export)\b(\s+type\b)?(?:[^;"'=()]*?\bfrom)?\s*["']([^"'\n]+)["']/gm;
const call = /\bimport\(\s*(?:["']([^"'\n]+)["'])?/g;

/** Every import and re-export of a file, `import()` included; its specifier is "?" where it is not a literal. */
export function importsOf(text: string): ImportRecord[] {
  const code = without(text, ["comment"]);
  const out: ImportRecord[] = [];
  for (const match of code.matchAll(statement)) {
    out.push({ specifier: match[2] ?? "?", line: lineAt(code, match.index), typeOnly: match[1] !== undefined });
  }
  for (const match of code.matchAll(call)) {
    out.push({ specifier: match[1] ?? "?", line: lineAt(code, match.index), typeOnly: false });
  }
  return out;
}
