/** One member of a JSON object: its name, and its value's text as it stands there. */
export interface JsonMember {
  key: string;
  value: string;
}

/**
 * The text of a member's value in the text of a JSON object, exactly as it stands there; the last one where a key
 * occurs twice, as JSON.parse takes it. Null when there is none. `json` must be valid JSON of an object.
 */
export function jsonMemberText(json: string, key: string): string | null {
  return readMembers(json).findLast((member) => member.key === key)?.value ?? null;
}

/** The members of an object in their order; null when the text is no valid JSON of an object. */
export function jsonMembers(json: string): JsonMember[] | null {
  const text = json.trim();
  return text.startsWith("{") && jsonPrefixEnd(text) === text.length ? readMembers(text) : null;
}

/** The texts of a list's items. `json` must be valid JSON of a list. */
export function jsonItems(json: string): string[] {
  const items: string[] = [];
  let at = skipSpace(json, json.indexOf("[") + 1);
  while (json[at] !== "]") {
    const end = valueEnd(json, at);
    items.push(json.slice(at, end));
    at = skipSpace(json, end);
    if (json[at] === ",") at = skipSpace(json, at + 1);
  }
  return items;
}

/** Where the JSON object or list at the beginning of a text ends; null when none stands there. */
export function jsonPrefixEnd(text: string): number | null {
  if (!"{[".includes(text[0] ?? "x")) return null;
  const end = valueEnd(text, 0);
  try {
    JSON.parse(text.slice(0, end));
    return end;
  } catch {
    return null;
  }
}

function readMembers(json: string): JsonMember[] {
  const members: JsonMember[] = [];
  let at = json.indexOf("{") + 1;
  for (;;) {
    at = skipSpace(json, at);
    if (json[at] === ",") at = skipSpace(json, at + 1);
    if (json[at] !== '"') return members;
    const keyEnd = stringEnd(json, at);
    const start = skipSpace(json, json.indexOf(":", keyEnd) + 1);
    const end = valueEnd(json, start);
    members.push({ key: String(JSON.parse(json.slice(at, keyEnd))), value: json.slice(start, end) });
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

/** One past the value that begins at `at`; the text's end where it does not end. */
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
  } while (depth > 0 && i < json.length);
  return i;
}
