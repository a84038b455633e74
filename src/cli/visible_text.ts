/** Control characters but line feed and tab, and the marks that turn the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Foreign text that is safe on a terminal: what would move the cursor or hide text is shown as its code. */
export function visible(text: string): string {
  return text.replace(unseen, code);
}

/** The same for a place of one line, such as an id in a table: line feeds and tabs are shown as codes too. */
export function visibleLine(text: string): string {
  return visible(text).replace(/[\n\t]/g, code);
}

function code(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
