// The calculator tool: + - * / and parentheses. Written out instead of eval(), so a model cannot make it run anything
// else.

class Parser {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  parse(): number {
    const value = this.sum();
    if (this.peek() !== "") throw new SyntaxError(`unexpected "${this.peek()}"`);
    return value;
  }

  private peek(): string {
    while (this.text[this.at] === " ") this.at++;
    return this.text[this.at] ?? "";
  }

  private sum(): number {
    let value = this.product();
    for (let sign = this.peek(); sign === "+" || sign === "-"; sign = this.peek()) {
      this.at++;
      value = sign === "+" ? value + this.product() : value - this.product();
    }
    return value;
  }

  private product(): number {
    let value = this.factor();
    for (let sign = this.peek(); sign === "*" || sign === "/"; sign = this.peek()) {
      this.at++;
      value = sign === "*" ? value * this.factor() : value / this.factor();
    }
    return value;
  }

  private factor(): number {
    const next = this.peek();
    if (next === "-" || next === "+") {
      this.at++;
      return next === "-" ? -this.factor() : this.factor();
    }
    if (next === "(") {
      this.at++;
      const value = this.sum();
      if (this.peek() !== ")") throw new SyntaxError('")" is missing');
      this.at++;
      return value;
    }
    const digits = /^(0|[1-9][0-9]*)(?![0-9])/.exec(this.text.slice(this.at))?.[0];
    if (digits === undefined) throw new SyntaxError("a number is missing");
    this.at += digits.length;
    return Number(digits);
  }
}

/** The value as text, three decimals at most; "error" for anything else, a division by zero included. */
export function calculate(expression: string): string {
  if (!/^[0-9+\-*/() ]{1,64}$/.test(expression)) return "error";
  let value: number;
  try {
    value = new Parser(expression).parse();
  } catch {
    return "error";
  }
  return Math.abs(value) <= 1e12 ? String(Number(value.toFixed(3))) : "error";
}
