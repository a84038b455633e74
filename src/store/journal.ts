/** Steps that lead back to the state before a batch. */
export class Journal {
  private steps: (() => void)[] = [];

  /** Notes how to take back the change just made. */
  note(step: () => void): void {
    this.steps.push(step);
  }

  /** Adds an item to a list, revocably. */
  push<T>(list: T[], item: T): void {
    list.push(item);
    this.note(() => list.pop());
  }

  /** Takes back every change since the last `clear`, latest first. */
  rollBack(): void {
    for (const step of this.steps.reverse()) step();
    this.clear();
  }

  /** What happened stays. */
  clear(): void {
    this.steps = [];
  }
}
