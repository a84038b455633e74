/** Who is in a room and how far; in memory only, and bounded in everything that members decide. */
import { type Clock, type Entropy, hex } from "../../src/core/clock.ts";
import {
  type RoomJoin,
  type RoomMember,
  type RoomReport,
  type RoomTicket,
  type RoomView,
  roomLimits,
} from "../../src/schema/room.ts";
import { equalInConstantTime } from "../http/constant_time.ts";
import { DetailError } from "../http/errors.ts";
import { CodeGuesses } from "./code_guesses.ts";

/** Letters and digits that are not mistaken for each other when they are read aloud or off a wall. */
const codeLetters = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const codeLength = 6;

interface Member {
  /** What the teacher names it by; the token stays its own. */
  readonly id: string;
  /** Where it joined from. */
  readonly sender: string;
  readonly name: string;
  seenMs: number;
  report: RoomMember["report"];
  rewards: number[];
}

/** A code for a new room. */
export function newRoomCode(entropy: Entropy): string {
  let code = "";
  // Bytes past the last whole multiple would make some letters more likely.
  const even = 256 - (256 % codeLetters.length);
  while (code.length < codeLength) {
    for (const byte of entropy.bytes(codeLength)) {
      if (byte < even && code.length < codeLength) code += codeLetters[byte % codeLetters.length];
    }
  }
  return code;
}

/** A name as it may be shown: no control or format characters, no runs of blanks, not too long. */
export function shownName(name: string): string {
  const plain = name
    .normalize("NFC")
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  return [...plain].slice(0, roomLimits.nameLength).join("") || "?";
}

/** One room. */
export class Room {
  readonly code: string;
  private readonly clock: Pick<Clock, "monotonic">;
  private readonly entropy: Entropy;
  private readonly members = new Map<string, Member>();
  private readonly guesses = new CodeGuesses();

  constructor(code: string, clock: Pick<Clock, "monotonic">, entropy: Entropy) {
    this.code = code;
    this.clock = clock;
    this.entropy = entropy;
  }

  /**
   * Lets somebody in; `sender` is where the request comes from.
   * @throws DetailError 403 for a wrong code, 429 after too many, 409 when the room is full
   */
  join({ code, name }: RoomJoin, sender: string): RoomTicket {
    const now = this.clock.monotonic();
    const isKnown = [...this.members.values()].some((member) => member.sender === sender);
    if (this.guesses.isBarred(sender, isKnown, now)) {
      throw new DetailError(429, "Too many wrong codes; try again in a minute", { "retry-after": "60" });
    }
    if (!equalInConstantTime(code.trim().toUpperCase(), this.code)) {
      this.guesses.add(sender, now);
      throw new DetailError(403, "There is no room with this code here");
    }
    this.forget(now);
    if (this.members.size >= roomLimits.members) throw new DetailError(409, "The room is full");
    const token = hex(this.entropy.bytes(16));
    const id = hex(this.entropy.bytes(8));
    const member: Member = { id, sender, name: shownName(name), seenMs: now, report: null, rewards: [] };
    this.members.set(token, member);
    return { token, name: member.name };
  }

  /** Takes a member's news. @throws DetailError 401 for somebody who is not in the room */
  report({ token, ...report }: RoomReport): void {
    const member = this.members.get(token);
    if (member === undefined) throw new DetailError(401, "Not in the room; join again with its code");
    const before = member.report;
    const isSameRun = before?.lesson === report.lesson && before.run === report.run && before.update <= report.update;
    if (!isSameRun) member.rewards = [];
    const isNews = report.reward !== null && (!isSameRun || before?.update !== report.update);
    if (isNews && report.reward !== null) member.rewards.push(report.reward);
    if (member.rewards.length > roomLimits.rewards) member.rewards.shift();
    member.report = report;
    member.seenMs = this.clock.monotonic();
  }

  /** Forgets a member; nothing happens where there is none. */
  leave(token: string): void {
    this.members.delete(token);
  }

  /** Puts a member out: its next report is refused. @throws DetailError 404 where there is none of this id */
  remove(id: string): void {
    const found = [...this.members.entries()].find(([, member]) => member.id === id);
    if (found === undefined) throw new DetailError(404, "There is nobody with this id in the room");
    this.members.delete(found[0]);
  }

  /** Everybody in order of joining. */
  view(): RoomView {
    const now = this.clock.monotonic();
    this.forget(now);
    const members = [...this.members.values()].map(({ id, name, seenMs, report, rewards }) => ({
      id,
      name,
      silentSeconds: Math.round((now - seenMs) / 1000),
      report,
      rewards: [...rewards],
    }));
    return { code: this.code, members, full: members.length >= roomLimits.members };
  }

  private forget(now: number): void {
    for (const [token, { seenMs }] of this.members) {
      if (now - seenMs > roomLimits.silentSeconds * 1000) this.members.delete(token);
    }
  }
}
