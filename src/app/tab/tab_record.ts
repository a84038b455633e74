import { z } from "zod";
import { FormatError } from "../../core/errors.ts";
import type { Files } from "../../schema/files.ts";
import type { StartRequest } from "../../schema/run_control.ts";

/** The run that the tab had last, kept so that a reload finds it. */
export interface TabRecord {
  readonly format: 1;
  readonly experiment: string;
  readonly overrides: Record<string, unknown>;
  /** Text of an edited reward; empty for the experiment's own. */
  readonly reward: string;
  /** It was at work and nobody has stopped it. */
  readonly isRunning: boolean;
  /** It was asked to wait before its next update; absent: it was not. */
  readonly isPaused?: boolean;
  /**
   * It was not open yet. `new`: what is kept, if anything, is the run before it, which it is to replace. `kept`: what is
   * kept was to go on. Absent: it was open.
   */
  readonly opening?: "new" | "kept";
}

const recordSchema: z.ZodType<TabRecord> = z.strictObject({
  format: z.literal(1),
  experiment: z.string(),
  overrides: z.record(z.string(), z.unknown()),
  reward: z.string(),
  isRunning: z.boolean(),
  isPaused: z.boolean().optional(),
  opening: z.enum(["new", "kept"]).optional(),
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

/** The record of a run that is kept and not at work; `last` is that of the run that was shown last. */
export function keptRecord(experiment: string, last: TabRecord | null): TabRecord {
  if (last?.experiment === experiment && last.opening !== "new") return { ...opened(last), isRunning: false };
  return { format: 1, experiment, overrides: {}, reward: "", isRunning: false };
}

/** The record of a run that is being opened; one that replies by a script is not gone on with. */
export function startedRecord(experiment: string, request: StartRequest): TabRecord {
  const { overrides = {}, reward = "", resume = false, paused = false, script = [] } = request;
  const gate = paused ? { isPaused: true } : {};
  const isRunning = script.length === 0;
  return { format: 1, experiment, overrides, reward, isRunning, ...gate, opening: resume ? "kept" : "new" };
}

/** The record of a run that is open. */
function opened({ opening: _, ...record }: TabRecord): TabRecord {
  return record;
}

/** The record of the tab's last run, and its file. */
export class KeptRecord {
  private readonly files: Files;
  private current: TabRecord | null = null;
  /** Resolves when the last write has ended: two at once would meet in one file. */
  private written: Promise<void> = Promise.resolve();

  constructor(files: Files) {
    this.files = files;
  }

  /** Null when the tab had no run, or what it left cannot be read. */
  get value(): TabRecord | null {
    return this.current;
  }

  /** Reads what an earlier page has left. */
  async read(): Promise<void> {
    if (!(await this.files.exists(path))) return;
    try {
      this.current = parseRecord(await this.files.readText(path), path);
    } catch {
      // Torn, or of a later version: as if there were none.
    }
  }

  /** Keeps another run's record. */
  keep(record: TabRecord): Promise<void> {
    this.current = record;
    const text = JSON.stringify(record);
    const write = (): Promise<void> => this.files.write(path, text);
    this.written = this.written.then(write, write);
    return this.written;
  }

  /** Keeps what has become different about the run. */
  async note(part: Partial<Pick<TabRecord, "isRunning" | "isPaused">>): Promise<void> {
    if (this.current !== null) await this.keep({ ...this.current, ...part });
  }

  /** Keeps that the run is open. */
  async noteOpened(): Promise<void> {
    if (this.current?.opening !== undefined) await this.keep(opened(this.current));
  }

  /** Forgets it: a reload finds no run. */
  drop(): Promise<void> {
    this.current = null;
    const remove = (): Promise<void> => this.files.remove(path);
    this.written = this.written.then(remove, remove);
    return this.written;
  }

  /** Resolves when everything is written. */
  settled(): Promise<void> {
    return this.written;
  }
}
