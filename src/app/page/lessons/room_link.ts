/** A tab's way into its teacher's room: numbers of the lesson's runs, never their texts. */

import { LeydenError } from "../../../core/errors.ts";
import type { Lesson } from "../../../schema/lesson.ts";
import { type RoomReport, type RoomTicket, roomTicketSchema } from "../../../schema/room.ts";
import type { RunFault } from "../../../schema/run_control.ts";
import { faultOf } from "../backend.ts";
import { postRoom } from "./ask_room.ts";
import type { Ask } from "./lesson_gateway.ts";
import type { LessonState } from "./lesson_session.ts";

/** Whether the tab shares, and what went wrong last; null for nothing. */
export interface RoomState {
  readonly name: string | null;
  readonly fault: RunFault | null;
}

/** Where a membership outlives the page. */
export interface TicketPlace {
  /** Null when there is none. */
  read(): RoomTicket | null;
  /** Null ends the membership. */
  keep(ticket: RoomTicket | null): void;
}

/** What a teacher sees of a lesson's state. */
export function roomReport(lesson: Lesson, { active, runs, verdicts }: LessonState): Omit<RoomReport, "token"> {
  const finished = Object.keys(runs).filter((key) => runs[key] !== undefined);
  const key = active?.key ?? finished.at(-1) ?? "";
  const lines = active?.lines ?? runs[key]?.metrics ?? [];
  const reward = lines.at(-1)?.["training/reward"];
  return {
    lesson: lesson.id,
    run: key,
    update: active?.update ?? lines.length,
    updates: active?.updates ?? lines.length,
    reward: typeof reward === "number" && Number.isFinite(reward) ? reward : null,
    done: lesson.exercises.filter((exercise) => verdicts[exercise.key]?.ok === true).length,
    exercises: lesson.exercises.length,
  };
}

/** The tab's membership; one for all lessons, and the same after a reload. */
export class RoomLink {
  private readonly ask: Ask;
  private readonly place: TicketPlace;
  private readonly listeners = new Set<() => void>();
  private token: string | null;
  private state: RoomState;
  private latest: Omit<RoomReport, "token"> | null = null;
  /** What the room was told last. */
  private told = "";

  constructor(ask: Ask, place: TicketPlace) {
    this.ask = ask;
    this.place = place;
    const ticket = place.read();
    this.token = ticket?.token ?? null;
    this.state = { name: ticket?.name ?? null, fault: null };
  }

  view(): RoomState {
    return this.state;
  }

  /** Calls `told` after every change, until the returned function is called. */
  subscribe(told: () => void): () => void {
    this.listeners.add(told);
    return () => this.listeners.delete(told);
  }

  async join(code: string, name: string): Promise<void> {
    await this.attempt(async () => {
      const ticket = roomTicketSchema.parse(await (await this.post("join", { code, name })).json());
      this.told = "";
      this.become(ticket);
    });
    await this.send();
  }

  async leave(): Promise<void> {
    const { token } = this;
    this.become(null);
    if (token !== null) await this.attempt(async () => void (await this.post("leave", { token })));
  }

  /** Takes where a lesson stands, and tells the room when that is news; before joining it is kept for then. */
  async tell(report: Omit<RoomReport, "token">): Promise<void> {
    this.latest = report;
    await this.send();
  }

  private async send(): Promise<void> {
    const { token, latest } = this;
    const news = JSON.stringify(latest);
    if (token === null || latest === null || news === this.told) return;
    this.told = news;
    const isTold = await this.attempt(async () => void (await this.post("report", { token, ...latest })));
    // What did not arrive is told again with the next look at the lesson.
    if (!isTold && this.told === news) this.told = "";
  }

  /** In with a ticket, out without one. */
  private become(ticket: RoomTicket | null): void {
    this.token = ticket?.token ?? null;
    this.place.keep(ticket);
    this.change({ name: ticket?.name ?? null, fault: null });
  }

  private change(state: RoomState): void {
    this.state = state;
    for (const told of this.listeners) told();
  }

  /** False where it failed, which the state tells until something is done again. */
  private async attempt(body: () => Promise<void>): Promise<boolean> {
    try {
      await body();
      if (this.state.fault !== null) this.change({ ...this.state, fault: null });
      return true;
    } catch (thrown) {
      this.change({ ...this.state, fault: faultOf(thrown) });
      return false;
    }
  }

  private async post(path: string, body: unknown): Promise<Response> {
    const response = await postRoom(this.ask, path, body);
    if (response.ok) return response;
    if (response.status === 401) this.become(null);
    throw new LeydenError(`room_${response.status}`, detailOf(await response.text()));
  }
}

function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === "string") return detail;
  } catch {
    // Not the gateway's own answer: the text is what there is.
  }
  return text.slice(0, 200);
}
