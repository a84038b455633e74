import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type GroupPolicy, GroupSchedule } from "../../src/schedule/group_schedule.ts";

const policy = (more: Partial<GroupPolicy>): GroupPolicy => ({
  mode: "interleaved",
  tasksPerUpdate: 2,
  activeGroups: 4,
  maxAge: Number.POSITIVE_INFINITY,
  ...more,
});

/** Starts groups 0, 1, … as far as there is room; returns how many there are now. */
function fill(schedule: GroupSchedule<number>, from: number): number {
  let next = from;
  while (schedule.room > 0) schedule.start(next++);
  return next;
}

describe("GroupSchedule", () => {
  it("starts the next groups of a sync run when all of an update are trained", () => {
    const schedule = new GroupSchedule<number>(policy({ mode: "sync", maxAge: 0 }), 4);
    expect(fill(schedule, 0)).toBe(2);
    schedule.finish(0);
    expect([schedule.room, schedule.batch()]).toEqual([0, null]);
    schedule.finish(1);
    expect(schedule.batch()).toEqual([0, 1]);
    schedule.updated([0, 1]);
    expect(fill(schedule, 2)).toBe(4);
    for (const g of [2, 3]) schedule.finish(g);
    schedule.updated([2, 3]);
    expect([schedule.isDone, schedule.updates]).toEqual([true, 2]);
  });

  it("fills up at updates in a collocated run, and as groups finish in an interleaved one", () => {
    for (const [mode, room] of [
      ["collocated", 0],
      ["interleaved", 1],
    ] as const) {
      const schedule = new GroupSchedule<number>(policy({ mode }), 10);
      expect(fill(schedule, 0)).toBe(4);
      schedule.finish(2);
      expect(schedule.room).toBe(room);
    }
  });

  it("trains the oldest finished groups first (tinker-cookbook 822)", () => {
    const schedule = new GroupSchedule<number>(policy({ mode: "collocated" }), 10);
    fill(schedule, 0);
    for (const g of [3, 2, 1]) schedule.finish(g);
    expect(schedule.batch()).toEqual([1, 2]);
  });

  it("waits for a slow group that would become too old, and trains it in time (tinker-cookbook 822, slime 1800)", () => {
    const schedule = new GroupSchedule<number>(policy({ maxAge: 1 }), 10);
    fill(schedule, 0);
    for (const g of [2, 3]) schedule.finish(g);
    expect(schedule.batch()).toEqual([2, 3]);
    schedule.updated([2, 3]);
    fill(schedule, 4);
    for (const g of [4, 5]) schedule.finish(g);
    // Groups 0 and 1 are of before the first update: the second is the last that may train them.
    expect([schedule.batch(), schedule.collectable()]).toEqual([null, null]);
    schedule.finish(0);
    expect(schedule.collectable()).toBe(0);
    schedule.collect(0);
    expect(schedule.collectable()).toBeNull();
    schedule.finish(1);
    expect(schedule.batch()).toEqual([0, 1]);
    expect(schedule.ageOf(0)).toBe(1);
  });

  it("collects in order of the groups' starts, whoever finishes first", () => {
    const schedule = new GroupSchedule<number>(policy({ tasksPerUpdate: 3, activeGroups: 6 }), 12);
    fill(schedule, 0);
    schedule.finish(1);
    expect(schedule.collectable()).toBeNull();
    schedule.finish(0);
    expect(schedule.collectable()).toBe(0);
    schedule.collect(0);
    expect(schedule.collectable()).toBe(1);
    schedule.collect(1);
    // Group 2 is at work: whether it belongs to the update shows when the update has all its groups.
    schedule.finish(4);
    expect(schedule.batch()).toEqual([0, 1, 4]);
    expect(schedule.collectable()).toBe(4);
  });

  it("keeps to what was collected: a group that finishes before younger ones are collected goes to the next update", () => {
    const schedule = new GroupSchedule<number>(policy({}), 10);
    fill(schedule, 0);
    for (const g of [1, 3]) schedule.finish(g);
    expect(schedule.collectable()).toBe(1);
    schedule.collect(1);
    schedule.finish(0);
    expect(schedule.collectable()).toBe(3);
    schedule.collect(3);
    expect([schedule.batch(), schedule.collectable()]).toEqual([[1, 3], null]);
    schedule.updated([1, 3]);
    expect(schedule.collectable()).toBe(0);
  });

  it("trains fewer in the last update when groups run out, and starts one for each that is dropped", () => {
    const schedule = new GroupSchedule<number>(policy({ mode: "collocated" }), 3);
    expect(fill(schedule, 0)).toBe(3);
    schedule.drop(1);
    expect(schedule.room).toBe(1);
    expect(fill(schedule, 3)).toBe(4);
    for (const g of [0, 2, 3]) schedule.finish(g);
    schedule.updated(schedule.batch() ?? []);
    expect(schedule.batch()).toEqual([3]);
    schedule.updated([3]);
    expect(schedule.isDone).toBe(true);
  });

  it("counts the ages of groups that were carried over from an earlier run", () => {
    const schedule = new GroupSchedule<number>(policy({ maxAge: 2 }), 6, 5);
    schedule.start(0, 3);
    schedule.start(1, 5);
    expect([schedule.ageOf(0), schedule.ageOf(1)]).toEqual([2, 0]);
    schedule.finish(1);
    fill(schedule, 2);
    schedule.finish(2);
    expect(schedule.batch()).toBeNull();
  });

  it("trains everything once and nothing too old, whatever finishes when", () => {
    const draws = fc.record({
      mode: fc.constantFrom("sync", "collocated", "interleaved") as fc.Arbitrary<GroupPolicy["mode"]>,
      tasksPerUpdate: fc.integer({ min: 1, max: 4 }),
      more: fc.integer({ min: 1, max: 8 }),
      maxAge: fc.constantFrom(0, 1, 2, 3, Number.POSITIVE_INFINITY),
      groups: fc.integer({ min: 1, max: 30 }),
      order: fc.array(fc.nat(1000), { minLength: 400, maxLength: 400 }),
    });
    fc.assert(
      fc.property(draws, ({ mode, tasksPerUpdate, more, maxAge, groups, order }) => {
        const age = mode === "sync" ? 0 : maxAge;
        const schedule = new GroupSchedule<number>(
          { mode, tasksPerUpdate, activeGroups: tasksPerUpdate + more, maxAge: age },
          groups,
        );
        const trained: number[] = [];
        const collected: number[] = [];
        const working: number[] = [];
        let next = 0;
        for (const draw of order) {
          while (schedule.room > 0) {
            working.push(next);
            schedule.start(next++);
          }
          // One, two or all: a device may have something else to do.
          for (let more = draw % 4, g = schedule.collectable(); more > 0 && g !== null; g = schedule.collectable()) {
            schedule.collect(g);
            collected.push(g);
            if (more < 3) more--;
          }
          const batch = schedule.batch();
          if (batch !== null && draw % 5 > 0) {
            expect(batch.slice(0, collected.length)).toEqual(collected);
            collected.length = 0;
            expect(batch).toEqual([...batch].sort((a, b) => a - b));
            for (const g of batch) expect(schedule.ageOf(g)).toBeLessThanOrEqual(age);
            trained.push(...batch);
            schedule.updated(batch);
          } else if (working.length > 0 && draw % 7 > 0) {
            schedule.finish(working.splice(draw % working.length, 1)[0] as number);
          }
          if (schedule.isDone) break;
        }
        expect(schedule.isDone).toBe(true);
        expect(trained.sort((a, b) => a - b)).toEqual(Array.from({ length: groups }, (_, g) => g));
      }),
      { numRuns: 1000 },
    );
  });
});
