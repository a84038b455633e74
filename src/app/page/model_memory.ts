import type { RunFault } from "../../schema/run_control.ts";
import type { ArrivingRun } from "../tab/tab_messages.ts";
import { faultOf } from "./backend.ts";
import type { DroppedFolder } from "./dropped_files.ts";
import { KeptValue } from "./kept_value.ts";

/** A checkpoint that waits for a yes, since it would take a kept run's place. */
export interface DoubtedCheckpoint {
  readonly name: string;
  readonly zip: Uint8Array;
  readonly update: number;
  readonly experiment: string;
}

/** A run that was chosen and is not in its place yet. */
export interface Arrival {
  readonly folder: DroppedFolder;
  readonly run: ArrivingRun;
}

/** What the section of models is doing. */
export interface ModelWork {
  /** Says it, and what came of it. */
  readonly note: string;
  readonly busy: boolean;
  readonly fault: RunFault | null;
}

/** What the section of models keeps while the page lives: work goes on when the section is left, and its questions wait. */
export class ModelMemory {
  readonly work: KeptValue<ModelWork> = new KeptValue<ModelWork>({ note: "", busy: false, fault: null });
  /** Another number when what is kept has changed. */
  readonly version: KeptValue<number> = new KeptValue(0);
  /** A model that waits for a yes, since another one has its name. */
  readonly doubtedModel: KeptValue<DroppedFolder | null> = new KeptValue<DroppedFolder | null>(null);
  readonly doubtedCheckpoint: KeptValue<DoubtedCheckpoint | null> = new KeptValue<DoubtedCheckpoint | null>(null);
  readonly arrival: KeptValue<Arrival | null> = new KeptValue<Arrival | null>(null);

  /** Says what is being done, does it, and says what it returns, or what went wrong. */
  async run(doing: string, body: () => Promise<string>): Promise<void> {
    this.work.set({ note: doing, busy: true, fault: null });
    try {
      this.work.set({ note: await body(), busy: false, fault: null });
    } catch (thrown) {
      this.work.set({ note: "", busy: false, fault: faultOf(thrown) });
    }
  }

  /** Says more of what is being done. */
  note(text: string): void {
    this.work.set({ ...this.work.value, note: text });
  }
}
