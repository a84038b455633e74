import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";
import { type ScriptedReply, scriptedReplySchema } from "../schema/script.ts";

function entry(path: string, line: string, number: number): ScriptedReply {
  const refuse = (reason: string) =>
    new FormatError("script", `${path}, line ${number}: ${reason}.`, {
      do: 'Write one JSON object per line: {"text","reasoning","calls":[{"id","name","arguments"}],"error","delayMs","when"}.',
      data: { path, line: number },
    });
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw refuse("this is no JSON");
  }
  const read = scriptedReplySchema.safeParse(value);
  if (read.success) {
    const { error, text, reasoning, calls } = read.data;
    if (error === undefined || (text ?? reasoning ?? calls) === undefined) return read.data;
    throw refuse("an error is answered without text, reasoning or calls");
  }
  const [issue] = read.error.issues;
  throw refuse(`${issue?.path.join(".") || "the line"}: ${issue?.message ?? "not as it should be"}`);
}

/**
 * The replies of a script: JSON lines, empty ones left out.
 * @throws FormatError "file_missing"; "script" naming the line that is none, or a script without replies
 */
export async function loadScript(files: Files, path: string): Promise<ScriptedReply[]> {
  // Some editors begin a file with a byte order mark.
  const lines = (await files.readText(path)).replace(/^\ufeff/, "").split("\n");
  const replies = lines.flatMap((line, at) => (line.trim() === "" ? [] : [entry(path, line, at + 1)]));
  if (replies.some(({ when }) => when === undefined)) return replies;
  throw new FormatError(
    "script",
    replies.length === 0
      ? `${path} has no replies.`
      : `${path} has replies with "when" only: calls that none fits get nothing.`,
    {
      do: 'Add a line without "when", such as {"text":"done"}; the last one is repeated.',
      data: { path },
    },
  );
}
