import { z } from "zod";
import { FormatError } from "../../core/errors.ts";
import type { Files } from "../../schema/files.ts";

/** The run that the tab had last, kept so that a reload finds it. */
export interface TabRecord {
  readonly format: 1;
  readonly experiment: string;
  readonly overrides: Record<string, unknown>;
  /** Text of an edited reward; empty for the experiment's own. */
  readonly reward: string;
  /** It was at work and nobody has stopped it. */
  readonly isRunning: boolean;
}

const recordSchema: z.ZodType<TabRecord> = z.strictObject({
  format: z.literal(1),
  experiment: z.string(),
  overrides: z.record(z.string(), z.unknown()),
  reward: z.string(),
  isRunning: z.boolean(),
});

/** The file in a checkpoint that says which run it is of. */
export const recordName = "experiment.json";

/** Path of the tab's own record. */
const path = "/tab.json";

/** The record in a text. @throws FormatError "tab_record" */
export function parseRecord(text: string, where: string): TabRecord {
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new FormatError("tab_record", `${where} says nothing of a run.`, { do: "Choose another file.", cause });
  }
}

/** The tab's last run; null when it had none, or what it left cannot be read. */
export async function readRecord(files: Files): Promise<TabRecord | null> {
  if (!(await files.exists(path))) return null;
  try {
    return parseRecord(await files.readText(path), path);
  } catch {
    return null;
  }
}

/** Keeps what a reload needs. */
export async function writeRecord(files: Files, record: TabRecord): Promise<void> {
  await files.write(path, JSON.stringify(record));
}
