import { describe, expect, it } from "vitest";
import { PacedWork } from "../../src/engine/paced_work.ts";

describe("PacedWork", () => {
  it("does nothing before it is told to, and stops at every place of its choice", async () => {
    const log: string[] = [];
    const work = new PacedWork(async (between) => {
      for (const part of ["a", "b", "c"]) {
        log.push(part);
        await between();
      }
      return log.length;
    });
    await Promise.resolve();
    expect(log).toEqual([]);
    for (const seen of [1, 2, 3]) {
      expect(await work.advance()).toBe(false);
      expect(log).toHaveLength(seen);
    }
    expect(await work.advance()).toBe(true);
    expect(await work.result).toBe(3);
  });

  it("ends with a failure, which is in its result", async () => {
    const work = new PacedWork(async (between) => {
      await between();
      throw new Error("spoilt");
    });
    expect(await work.advance()).toBe(false);
    expect(await work.advance()).toBe(true);
    await expect(work.result).rejects.toThrow("spoilt");
  });
});
