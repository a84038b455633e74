/** What was opened one after the other, to be closed in the reverse order. */
export class OpenedParts {
  private readonly ends: (() => Promise<unknown>)[] = [];

  add(end: () => Promise<unknown>): void {
    this.ends.push(end);
  }

  /** Closes everything, also what stands behind a part that cannot be closed. @throws what the first of those threw */
  async close(): Promise<void> {
    const faults: unknown[] = [];
    for (const end of this.ends.splice(0).reverse()) {
      try {
        await end();
      } catch (thrown) {
        faults.push(thrown);
      }
    }
    if (faults.length > 0) throw faults[0];
  }
}

/** What `open` opens, with a way to close its parts. @throws what `open` threw; nothing is left open then */
export async function openParts<T>(open: (parts: OpenedParts) => Promise<T>): Promise<T & { close(): Promise<void> }> {
  const parts = new OpenedParts();
  try {
    return { ...(await open(parts)), close: () => parts.close() };
  } catch (thrown) {
    // Why it could not be opened matters more than what could not be closed.
    await parts.close().catch(() => undefined);
    throw thrown;
  }
}
