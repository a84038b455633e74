/** A room: tabs that show their progress to a teacher, who started it and tells its code. */
import { z } from "zod";

/** Body of `POST /room/api/join`. */
export interface RoomJoin {
  code: string;
  /** What the teacher sees; shortened, and without control characters. */
  name: string;
}

/** Answer to it: what the member's reports are signed with. */
export interface RoomTicket {
  token: string;
  name: string;
}

/** Body of `POST /room/api/report`: numbers only, so that no text of a run leaves its tab. */
export interface RoomReport {
  token: string;
  /** Id of the lesson. */
  lesson: string;
  /** Key of the run under way or finished last; "" before the first. */
  run: string;
  update: number;
  updates: number;
  /** Mean reward of the last update; null before the first. */
  reward: number | null;
  /** Exercises done, and how many the lesson has. */
  done: number;
  exercises: number;
}

/** Body of `POST /room/api/leave`. */
export interface RoomLeave {
  token: string;
}

/** Body of `POST /room/api/remove`, from the teacher. */
export interface RoomRemoval {
  /** Id of a member. */
  id: string;
}

/** A member as the teacher sees it. */
export interface RoomMember {
  /** What the teacher names the member by; it opens nothing. */
  id: string;
  name: string;
  /** Seconds since it was last heard of. */
  silentSeconds: number;
  report: Omit<RoomReport, "token"> | null;
  /** Rewards by update of the run that was reported last, the newest at the end. */
  rewards: number[];
}

/** `GET /room/api/view`. */
export interface RoomView {
  code: string;
  members: RoomMember[];
  /** Members that there is no place for any more. */
  full: boolean;
}

/** What a room's gateway bounds. */
export interface RoomLimits {
  members: number;
  nameLength: number;
  rewards: number;
  /** Members not heard of for so long are forgotten. */
  silentSeconds: number;
  /** Wrong codes of one address; its further ones are not looked at. */
  wrongCodesPerMinute: number;
  /** Wrong codes of all addresses; then codes are looked at only of addresses that have a member. */
  allWrongCodesPerMinute: number;
  bodyBytes: number;
}

/** The bounds of every room. */
export const roomLimits: Readonly<RoomLimits> = {
  members: 100,
  nameLength: 40,
  rewards: 200,
  silentSeconds: 3 * 3600,
  wrongCodesPerMinute: 20,
  allWrongCodesPerMinute: 600,
  bodyBytes: 2048,
};

const short = z.string().max(64);
const count = z.number().int().min(0).max(1_000_000);

export const roomJoinSchema: z.ZodType<RoomJoin> = z.strictObject({ code: short, name: z.string().max(200) });

export const roomReportSchema: z.ZodType<RoomReport> = z.strictObject({
  token: short,
  lesson: short,
  run: short,
  update: count,
  updates: count,
  reward: z.number().min(-1e9).max(1e9).nullable(),
  done: count,
  exercises: count,
});

export const roomLeaveSchema: z.ZodType<RoomLeave> = z.strictObject({ token: short });

export const roomRemovalSchema: z.ZodType<RoomRemoval> = z.strictObject({ id: short });

export const roomTicketSchema: z.ZodType<RoomTicket> = z.object({ token: z.string(), name: z.string() });

export const roomViewSchema: z.ZodType<RoomView> = z.object({
  code: z.string(),
  full: z.boolean(),
  members: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      silentSeconds: z.number(),
      report: z
        .object({
          lesson: z.string(),
          run: z.string(),
          update: z.number(),
          updates: z.number(),
          reward: z.number().nullable(),
          done: z.number(),
          exercises: z.number(),
        })
        .nullable(),
      rewards: z.array(z.number()),
    }),
  ),
});
