/**
 * The text of a member's value in the text of a JSON object, exactly as it stands there; the last one where a key
 * occurs twice, as JSON.parse takes it. Null when there is none. `json` must be valid JSON of an object.
 */
export function jsonMemberText(json: string, key: string): string | null {
  let found: string | null = null;
  let at = json.indexOf("{") + 1;
  for (;;) {
    at = skipSpace(json, at);
    if (json[at] === ",") at = skipSpace(json, at + 1);
    if (json[at] !== '"') return found;
    const keyEnd = stringEnd(json, at);
    const name: unknown = JSON.parse(json.slice(at, keyEnd));
    const start = skipSpace(json, json.indexOf(":", keyEnd) + 1);
    const end = valueEnd(json, start);
    if (name === key) found = json.slice(start, end);
    at = end;
  }
}

function skipSpace(json: string, at: number): number {
  let i = at;
  while (" \t\n\r".includes(json[i] ?? "x")) i++;
  return i;
}

/** One past the closing quote of the string that opens at `at`. */
function stringEnd(json: string, at: number): number {
  let i = at + 1;
  while (i < json.length && json[i] !== '"') i += json[i] === "\\" ? 2 : 1;
  return i + 1;
}

/** One past the value that begins at `at`. */
function valueEnd(json: string, at: number): number {
  const first = json[at] as string;
  if (first === '"') return stringEnd(json, at);
  if (!"{[".includes(first)) return at + (/^[^,}\]\s]*/.exec(json.slice(at))?.[0].length ?? 0);
  let depth = 0;
  let i = at;
  do {
    const c = json[i] as string;
    if ("{[".includes(c)) depth += 1;
    if ("}]".includes(c)) depth -= 1;
    i = c === '"' ? stringEnd(json, i) : i + 1;
  } while (depth > 0);
  return i;
}
