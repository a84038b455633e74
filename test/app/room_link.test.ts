/** A tab's membership in a room: what is told when, and what is kept to itself. */
import { describe, expect, it } from "vitest";
import { faultReason } from "../../src/app/page/environment.tsx";
import { askRoom } from "../../src/app/page/lessons/ask_room.ts";
import { freshLesson } from "../../src/app/page/lessons/lesson_session.ts";
import { RoomLink, roomReport, type TicketPlace } from "../../src/app/page/lessons/room_link.ts";
import { EnvironmentError } from "../../src/core/errors.ts";
import type { Lesson, LessonRun } from "../../src/schema/lesson.ts";
import type { RoomTicket } from "../../src/schema/room.ts";

const report = { lesson: "01-policy", run: "run", update: 1, updates: 12, reward: 0.5, done: 0, exercises: 4 };

/** What a tab keeps over a reload. */
function pocket(): TicketPlace {
  let kept: RoomTicket | null = null;
  return {
    read: () => kept,
    keep: (ticket) => {
      kept = ticket;
    },
  };
}

/** A room that answers as the gateway does, and what was asked of it. */
function room(answers: (path: string) => Response = () => new Response(null, { status: 204 }), place = pocket()) {
  const asked: [string, unknown][] = [];
  const link = new RoomLink(async (path, init) => {
    asked.push([path, JSON.parse(String(init?.body))]);
    return path.endsWith("join") ? Response.json({ token: "t1", name: "Mina" }) : answers(path);
  }, place);
  return { link, asked };
}

describe("a room link", () => {
  it("tells nothing before joining, then what is known, then news only", async () => {
    const { link, asked } = room();
    await link.tell(report);
    expect(asked).toEqual([]);
    await link.join("ABC234", "Mina");
    await link.tell({ ...report });
    await link.tell({ ...report, update: 2 });
    expect(asked).toEqual([
      ["/room/api/join", { code: "ABC234", name: "Mina" }],
      ["/room/api/report", { token: "t1", ...report }],
      ["/room/api/report", { token: "t1", ...report, update: 2 }],
    ]);
    expect(link.view()).toEqual({ name: "Mina", fault: null });
    await link.leave();
    await link.tell({ ...report, update: 3 });
    expect(asked.at(-1)).toEqual(["/room/api/leave", { token: "t1" }]);
    expect(link.view()).toEqual({ name: null, fault: null });
  });

  it("says in the room's words what it did not take, and is out when the room has forgotten it", async () => {
    const { link } = room(() =>
      Response.json({ detail: "Not in the room; join again with its code" }, { status: 401 }),
    );
    await link.join("ABC234", "Mina");
    await link.tell(report);
    const message = "Not in the room; join again with its code";
    expect(link.view()).toEqual({ name: null, fault: { code: "room_401", message, do: "" } });
    const closed = new RoomLink(
      async () => Response.json({ detail: "There is no room with this code here" }, { status: 403 }),
      pocket(),
    );
    await closed.join("x", "y");
    expect(closed.view()).toEqual({
      name: null,
      fault: { code: "room_403", message: "There is no room with this code here", do: "" },
    });
  });

  it("is in the same room after a reload, until it leaves or the room has forgotten it", async () => {
    const place = pocket();
    await room(undefined, place).link.join("ABC234", "Mina");
    const again = room(undefined, place);
    expect(again.link.view()).toEqual({ name: "Mina", fault: null });
    await again.link.tell(report);
    expect(again.asked).toEqual([["/room/api/report", { token: "t1", ...report }]]);
    await again.link.leave();
    expect(room(undefined, place).link.view().name).toBeNull();
    await room(undefined, place).link.join("ABC234", "Mina");
    const forgotten = () => Response.json({ detail: "Not in the room; join again with its code" }, { status: 401 });
    await room(forgotten, place).link.tell(report);
    expect(room(undefined, place).link.view().name).toBeNull();
  });
});

/** What the page throws when the server that sent it is silent. */
const gone = () => {
  throw new EnvironmentError("server_gone", "https://10.0.0.2 does not answer.", { do: "Start its command again." });
};

describe("a room whose server is silent", () => {
  it("is told to a learner as such, who stays in it, and learns what it missed when it is back", async () => {
    let answers: () => Response = () => new Response(null, { status: 204 });
    const { link, asked } = room(() => answers());
    await link.join("ABC234", "Mina");
    answers = gone;
    await link.tell(report);
    expect(link.view()).toEqual({
      name: "Mina",
      fault: {
        code: "room_gone",
        message: "The room cannot be reached: https://10.0.0.2 does not answer.",
        do: "Check the network, or start `leyden serve --lan` again. Runs go on in their own tabs.",
      },
    });
    answers = () => new Response(null, { status: 204 });
    await link.tell({ ...report });
    expect(asked.at(-1)).toEqual(["/room/api/report", { token: "t1", ...report }]);
    expect(asked).toHaveLength(3);
    expect(link.view().fault).toBeNull();
  });

  it("is no run's folder to a page, in either language", () => {
    expect(faultReason("room_gone")).toBe("fault.room.gone");
    expect(faultReason("server_gone")).toBe("env.goneWhy");
  });

  it("leaves other faults what they are", async () => {
    await expect(askRoom(async () => Promise.reject(new TypeError("no")), "view")).rejects.toBeInstanceOf(TypeError);
  });
});

describe("what a teacher sees", () => {
  const lesson = { id: "01-policy", exercises: [{ key: "a" }, { key: "b" }] } as unknown as Lesson;
  const runOf = (...rewards: number[]): LessonRun => ({
    metrics: rewards.map((reward, i) => ({ step: i + 1, "training/reward": reward })),
    groups: [],
  });
  const state = freshLesson;

  it("is the run under way, else the one that ended last, and the exercises done", () => {
    expect(roomReport(lesson, state)).toEqual({
      lesson: "01-policy",
      run: "",
      update: 0,
      updates: 0,
      reward: null,
      done: 0,
      exercises: 2,
    });
    const ended = {
      ...state,
      runs: { one: runOf(0.25), two: runOf(0.5, 0.75) },
      verdicts: { a: { ok: true, feedback: "x" } },
    };
    expect(roomReport(lesson, ended)).toMatchObject({ run: "two", update: 2, updates: 2, reward: 0.75, done: 1 });
    const active = { key: "three", update: 1, updates: 8, lines: runOf(0.125).metrics };
    expect(roomReport(lesson, { ...ended, active })).toMatchObject({
      run: "three",
      update: 1,
      updates: 8,
      reward: 0.125,
    });
  });
});
