import { roomLimits } from "../../src/schema/room.ts";

const windowMs = 60_000;

/**
 * Wrong codes of the last minute, by sender. A sender that makes too many is barred alone; too many of all together, as
 * of somebody with many addresses, bar those of whom nobody is in the room.
 */
export class CodeGuesses {
  private readonly bySender = new Map<string, number[]>();
  private count = 0;

  /** True when a sender's code is not to be looked at. `isKnown`: somebody joined from there. */
  isBarred(sender: string, isKnown: boolean, now: number): boolean {
    this.forget(now);
    const own = this.bySender.get(sender)?.length ?? 0;
    if (own >= roomLimits.wrongCodesPerMinute) return true;
    return !isKnown && this.count >= roomLimits.allWrongCodesPerMinute;
  }

  add(sender: string, now: number): void {
    this.bySender.set(sender, [...(this.bySender.get(sender) ?? []), now]);
    this.count++;
  }

  private forget(now: number): void {
    for (const [sender, times] of this.bySender) {
      const recent = times.filter((at) => now - at < windowMs);
      this.count -= times.length - recent.length;
      if (recent.length === 0) this.bySender.delete(sender);
      else this.bySender.set(sender, recent);
    }
  }
}
