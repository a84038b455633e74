/** One dataset row. The agent sees `input`; `hidden` is for graders alone. Both are plain JSON. */
export interface TaskRow {
  /** Equal ids mean equal tasks. */
  id: string;
  input: Record<string, unknown>;
  hidden: Record<string, unknown>;
}

/** Training tasks in one seed's order. A run that resumes at task n asks for `at(n)` again and gets the same row. */
export interface TaskStream {
  /** The task at a position, 0 and up. @throws ConfigError "config" past the end of a finite stream */
  at(index: number): TaskRow;
  /** How many tasks there are; Infinity for a generator. A longer run takes them again, each epoch in another order. */
  readonly length: number;
}

/** What a dataset module exports as `dataset`. */
export interface Dataset {
  /** Equal seeds give equal streams. */
  train(seed: number): TaskStream;
  /** Fixed tasks for measuring; none of them is in any stream. */
  heldOut: readonly TaskRow[];
}
