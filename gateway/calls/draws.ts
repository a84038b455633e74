import { callKeyOf } from "./call_key.ts";

/** The draws of each prompt of an attempt that count: under way, or delivered. */
export class Draws {
  /** Prompts of which the first draw alone counts: nearly all. */
  private readonly single = new Set<string>();
  private readonly others = new Map<string, Set<number>>();

  /**
   * The key of the next draw of a prompt. A draw that the harness never got is drawn again under its key, so that a
   * broken connection changes nothing.
   */
  claim(prompt: string): string {
    const drawn = this.of(prompt);
    let occurrence = 0;
    while (drawn.has(occurrence)) occurrence++;
    this.set(prompt, drawn.add(occurrence));
    return callKeyOf(prompt, occurrence);
  }

  /** Counts a draw that was recorded before. */
  add(callKey: string): void {
    const [prompt = "", occurrence = ""] = callKey.split(".");
    this.set(prompt, this.of(prompt).add(Number(occurrence)));
  }

  /** Takes a draw back that was not delivered. */
  release(callKey: string): void {
    const [prompt = "", occurrence = ""] = callKey.split(".");
    const drawn = this.of(prompt);
    drawn.delete(Number(occurrence));
    this.set(prompt, drawn);
  }

  private of(prompt: string): Set<number> {
    return this.single.has(prompt) ? new Set([0]) : (this.others.get(prompt) ?? new Set());
  }

  private set(prompt: string, drawn: Set<number>): void {
    this.single.delete(prompt);
    this.others.delete(prompt);
    if (drawn.size === 1 && drawn.has(0)) this.single.add(prompt);
    else if (drawn.size > 0) this.others.set(prompt, drawn);
  }
}
