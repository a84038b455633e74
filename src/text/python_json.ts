/**
 * Numbers as Python's json writes them. Templates were made for Python, where 1.0 stays 1.0; the template engine has
 * one number type. A number whose Python text differs from JavaScript's is therefore carried through a template as a
 * unique string and put back afterwards.
 */

/** The repr of a Python float. Source: CPython float_repr_style "short": exponents below 1e-4 and from 1e16 on. */
export function pythonFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  if (Object.is(value, -0)) return "-0.0";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    const [mantissa, exponent] = value.toExponential().split("e") as [string, string];
    return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** Strings that stand for numbers while a template renders. */
export class CarriedNumbers {
  private readonly texts: string[] = [];
  private readonly mark: string;

  /** `mark`: a character that occurs in none of the request's texts. */
  constructor(mark: string) {
    this.mark = mark;
  }

  /** How many numbers are carried. */
  get count(): number {
    return this.texts.length;
  }

  /** JSON text as a value; throws SyntaxError when it is not JSON. */
  parse(json: string): unknown {
    // The reviver's third argument is in every current engine but not yet in TypeScript's library.
    const reviver = (_key: string, value: unknown, context?: { source?: string }): unknown =>
      typeof value === "number" ? this.carry(value, context?.source) : value;
    return JSON.parse(json, reviver);
  }

  /** A number as itself, or as the string that stands for it. `source`: its text in JSON, where that is known. */
  carry(value: number, source?: string): number | string {
    const text = pythonNumber(value, source);
    if (text === JSON.stringify(value)) return value;
    this.texts.push(text);
    return `${this.mark}${this.texts.length - 1}${this.mark}`;
  }

  /** The rendered text with every carried number in place of its string, quotes included. */
  restore(rendered: string): string {
    if (this.texts.length === 0) return rendered;
    const { mark } = this;
    return rendered.replace(new RegExp(`"${mark}(\\d+)${mark}"|${mark}(\\d+)${mark}`, "g"), (_all, quoted, bare) =>
      String(this.texts[Number(quoted ?? bare)]),
    );
  }
}

function pythonNumber(value: number, source: string | undefined): string {
  const integer = source === undefined ? Number.isInteger(value) : /^-?\d+$/.test(source);
  if (!integer) return pythonFloat(value);
  if (source === undefined) return JSON.stringify(value);
  return source === "-0" ? "0" : source;
}
