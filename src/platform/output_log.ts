import { asLeydenError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";

/** A file that grows by what a program writes: what comes while a write is under way goes with the next one. */
export class OutputLog {
  /** Why some of it could not be written; null when all was. */
  error: string | null = null;
  private readonly files: Files;
  private readonly path: string | undefined;
  private waiting: Uint8Array[] = [];
  private writing: Promise<void> | null = null;

  /** Without a path what is written is dropped. */
  constructor(files: Files, path: string | undefined) {
    this.files = files;
    this.path = path;
  }

  write(bytes: Uint8Array): void {
    if (this.path === undefined || bytes.length === 0) return;
    this.waiting.push(bytes);
    this.writing ??= this.flush(this.path);
  }

  /** Resolves when all that was given is written, or given up. */
  async written(): Promise<void> {
    await this.writing;
  }

  private async flush(path: string): Promise<void> {
    while (this.waiting.length > 0) {
      const parts = this.waiting.splice(0);
      const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
      let at = 0;
      for (const part of parts) {
        whole.set(part, at);
        at += part.length;
      }
      try {
        await this.files.append(path, whole);
      } catch (thrown) {
        // Full storage must not end the run: the program goes on, the loss is reported.
        this.error ??= asLeydenError(thrown).message;
      }
    }
    this.writing = null;
  }
}
