import type { JsonObject } from "../schema/tokenizer_files.ts";

/** One past the highest id of a tokenizer.json; 0 for one without ids. */
export function tokenizerIds(tokenizer: JsonObject): number {
  const { vocab } = (tokenizer.model ?? {}) as { vocab?: unknown };
  const listed = Array.isArray(vocab) ? [vocab.length - 1] : Object.values((vocab ?? {}) as Record<string, number>);
  const added = ((tokenizer.added_tokens ?? []) as { id?: unknown }[]).map(({ id }) => Number(id));
  return [...listed, ...added].reduce((most, id) => Math.max(most, id), -1) + 1;
}
