/** The device's timeline in a run's folder: what was done when is still there when the run is over. */
import { asLeydenError } from "../core/errors.ts";
import type { DeviceSpan, DeviceTimeline, DeviceWork } from "../schema/device_timeline.ts";
import type { Engine } from "../schema/engine.ts";
import type { Files } from "../schema/files.ts";

/**
 * Name of the file: one line per stretch, `[kind, start, seconds, actions]`; `["dropped", start, 0, n]` where n stretches
 * before `start` were no longer there to be written.
 */
export const timelineFileName = "timeline.jsonl";

/** Gap below which neighbours of one kind are kept as one, in seconds: a file of hours must stay readable. */
const sameStretch = 0.05;

/** Stretches that are read at most, the last ones. */
const mostSpans = 20_000;

/** Neighbours of one kind joined. */
function joined(spans: readonly DeviceSpan[]): DeviceSpan[] {
  const out: DeviceSpan[] = [];
  for (const span of spans) {
    const last = out.at(-1);
    if (last?.kind !== span.kind || span.start - last.start - last.seconds > sameStretch) {
      out.push({ ...span });
      continue;
    }
    last.seconds = span.start + span.seconds - last.start;
    last.actions += span.actions;
  }
  return out;
}

const rounded = (seconds: number): number => Math.round(seconds * 1e4) / 1e4;

/** Writes what an engine did, whenever it is asked to. */
export class TimelineFile {
  private readonly files: Files;
  private readonly path: string;
  private readonly engine: Engine;
  private readonly say: (line: string) => void;
  private next = 0;
  private writing: Promise<void> = Promise.resolve();

  constructor(files: Files, path: string, engine: Engine, say: (line: string) => void) {
    this.files = files;
    this.path = path;
    this.engine = engine;
    this.say = say;
  }

  /** Adds what was done since the last time; a run goes on where that fails, and the person is told. */
  note(): Promise<void> {
    this.writing = this.writing
      .then(() => this.write())
      .catch((thrown: unknown) => {
        this.say(`${this.path}: ${asLeydenError(thrown).message}`);
      });
    return this.writing;
  }

  private async write(): Promise<void> {
    const found = await this.engine.timeline?.(this.next);
    if (found === undefined || found.spans.length === 0) return;
    // The last stretch may still grow: it comes with the next ones.
    const ended = joined(found.spans.slice(0, -1));
    this.next = found.next;
    if (ended.length === 0) return;
    const lost = found.dropped === 0 ? [] : [["dropped", rounded(ended[0]?.start ?? 0), 0, found.dropped]];
    const rows = ended.map(({ kind, start, seconds, actions }) => [kind, rounded(start), rounded(seconds), actions]);
    const lines = [...lost, ...rows].map((row) => JSON.stringify(row));
    await this.files.append(this.path, `${lines.join("\n")}\n`);
  }
}

function rowOf(text: string): [kind: DeviceWork | "dropped", start: number, seconds: number, count: number][] {
  try {
    const row = JSON.parse(text) as [DeviceWork, number, number, number];
    return row.slice(1).length === 3 && row.slice(1).every(Number.isFinite) ? [row] : [];
  } catch {
    // A torn last line.
    return [];
  }
}

/** What stands in a timeline's file; nothing where there is none. */
export async function readTimeline(files: Files, path: string): Promise<DeviceTimeline> {
  const text = (await files.exists(path)) ? await files.readText(path) : "";
  const spans: DeviceSpan[] = [];
  let lost = 0;
  for (const [kind, start, seconds, actions] of text.split("\n").flatMap(rowOf)) {
    if (kind === "dropped") lost += actions;
    else spans.push({ kind, start, seconds, actions });
  }
  const kept = spans.slice(-mostSpans);
  return { spans: kept, next: spans.length, dropped: lost + spans.length - kept.length };
}
