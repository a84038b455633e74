const words: Readonly<Record<string, string>> = {
  True: "true",
  False: "false",
  None: "null",
  true: "true",
  false: "false",
  null: "null",
};
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "\\": "\\", '"': '"', "'": "'" };

/** Reads names and literals of Python from a text, as JSON. */
export class PythonReader {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** Whether nothing but white space is left. */
  get atEnd(): boolean {
    return this.match(/\s*$/y) !== null;
  }

  /** Takes a piece of punctuation, white space before it included; false when something else stands there. */
  take(token: string): boolean {
    const start = this.at;
    this.match(/\s*/y);
    if (this.text.startsWith(token, this.at)) {
      this.at += token.length;
      return true;
    }
    this.at = start;
    return false;
  }

  /** A name with dots; null when none stands there. */
  name(): string | null {
    return this.match(/\s*([A-Za-z_][\w.-]*)/y);
  }

  /** The JSON text of a literal; null when none stands there. */
  json(): string | null {
    if (this.take("[")) return this.sequence("]", () => this.json());
    if (this.take("(")) return this.sequence(")", () => this.json());
    if (this.take("{")) return this.sequence("}", () => this.member());
    const quote = this.match(/\s*(["'])/y);
    if (quote !== null) return this.string(quote);
    const number = this.match(/\s*(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])/y);
    if (number !== null) return number;
    const word = this.match(/\s*([A-Za-z]+)/y);
    return word === null ? null : (words[word] ?? null);
  }

  private sequence(close: "]" | ")" | "}", item: () => string | null): string | null {
    const items: string[] = [];
    while (!this.take(close)) {
      if (items.length > 0 && !this.take(",")) return null;
      if (items.length > 0 && this.take(close)) break;
      const next = item();
      if (next === null) return null;
      items.push(next);
    }
    return close === "}" ? `{${items.join(", ")}}` : `[${items.join(", ")}]`;
  }

  private member(): string | null {
    const quote = this.match(/\s*(["'])/y);
    const key = quote === null ? null : this.string(quote);
    const value = key !== null && this.take(":") ? this.json() : null;
    return value === null ? null : `${key}: ${value}`;
  }

  private string(quote: string): string | null {
    let value = "";
    while (this.at < this.text.length) {
      const c = this.text[this.at++] as string;
      if (c === quote) return JSON.stringify(value);
      if (c !== "\\") value += c;
      else value += this.escaped();
    }
    return null;
  }

  /** What follows a backslash; an unknown escape keeps it, as Python does. */
  private escaped(): string {
    const code = this.match(/(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})/y);
    if (code !== null) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
    const c = this.text[this.at++] ?? "";
    return escapes[c] ?? `\\${c}`;
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (!found) return null;
    this.at = pattern.lastIndex;
    return found[1] ?? found[0];
  }
}

/** A JSON value as Python writes it. */
export function pythonLiteral(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${pythonLiteral(item)}`);
  return `{${members.join(", ")}}`;
}
