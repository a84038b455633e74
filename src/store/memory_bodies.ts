import type { Bodies } from "./body_codec.ts";

/** JSON texts by content with reference counts. */
export class MemoryBodies implements Bodies {
  private readonly ids = new Map<string, number>();
  private readonly texts = new Map<number, { json: string; references: number }>();
  private nextId = 1;

  put(json: string): number {
    const id = this.ids.get(json) ?? this.nextId++;
    this.refer(id, json);
    return id;
  }

  /** Adds a reference to a text under a known id. */
  refer(id: number, json: string): void {
    const entry = this.texts.get(id) ?? { json, references: 0 };
    entry.references++;
    this.texts.set(id, entry);
    this.ids.set(json, id);
  }

  json(id: number): string {
    return (this.texts.get(id) as { json: string }).json;
  }

  /** Takes one reference away; with the last one the text goes. */
  release(id: number): void {
    const entry = this.texts.get(id);
    if (!entry || --entry.references > 0) return;
    this.texts.delete(id);
    this.ids.delete(entry.json);
  }

  /** Number of texts held. */
  get size(): number {
    return this.texts.size;
  }
}
