/** What is called when an event happens. */
export type Listener = (...args: unknown[]) => void;

/** Listeners by event, as Node's emitters keep them. */
export class Listeners {
  private readonly byEvent = new Map<string, { run: Listener; once: boolean }[]>();

  add(event: string, run: Listener, once: boolean): void {
    this.byEvent.set(event, [...(this.byEvent.get(event) ?? []), { run, once }]);
  }

  remove(event: string, run: Listener): void {
    this.byEvent.set(
      event,
      this.of(event).filter((entry) => entry.run !== run),
    );
  }

  clear(event?: string): void {
    if (event === undefined) this.byEvent.clear();
    else this.byEvent.delete(event);
  }

  count(event: string): number {
    return this.of(event).length;
  }

  emit(event: string, ...args: unknown[]): boolean {
    const entries = this.of(event);
    for (const { run, once } of entries) {
      if (once) this.remove(event, run);
      run(...args);
    }
    return entries.length > 0;
  }

  private of(event: string): { run: Listener; once: boolean }[] {
    return this.byEvent.get(event) ?? [];
  }
}
