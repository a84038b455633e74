import { describe, expect, it } from "vitest";
import { TaskSampler } from "../../src/experiment/task_sampler.ts";
import type { TaskStream } from "../../src/schema/task.ts";

function stream(length: number): TaskStream {
  return { length, at: (index) => ({ id: `t${index}`, input: {}, hidden: {} }) };
}

/** Ids of the first `n` tasks from an index on. */
function ids(sampler: TaskSampler, from: number, n: number): string[] {
  return Array.from({ length: n }, (_, i) => sampler.at(from + i).id);
}

describe("tasks of a run", () => {
  it("come in the dataset's order unless asked otherwise, and always from an endless stream", () => {
    expect(ids(new TaskSampler(stream(9), "stream", 1), 0, 3)).toEqual(["t0", "t1", "t2"]);
    const endless = new TaskSampler(stream(Number.POSITIVE_INFINITY), "difficulty", 1);
    expect(ids(endless, 5, 2)).toEqual(["t5", "t6"]);
    expect(endless.state([5])).toBeUndefined();
  });

  it("that are neither always nor never solved come most often, unseen ones among them", () => {
    const sampler = new TaskSampler(stream(30), "difficulty", 1);
    // t0..t9 always solved, t10..t19 never, t20..t28 half the time, t29 unseen.
    for (let t = 0; t < 29; t++) sampler.note(`t${t}`, new Array(8).fill(t < 10 ? 1 : t < 20 ? 0 : 0.5));
    const drawn = ids(sampler, 0, 400).map((id) => Number(id.slice(1)));
    const share = (from: number, to: number): number => drawn.filter((t) => t >= from && t < to).length / drawn.length;
    expect(share(20, 30)).toBeGreaterThan(0.9);
    expect(share(29, 30)).toBeGreaterThan(0);
    expect(share(0, 20)).toBeGreaterThan(0);
  });

  it("are the same for equal seeds and histories, and stay when asked again after more was seen", () => {
    const one = new TaskSampler(stream(30), "difficulty", 7);
    const other = new TaskSampler(stream(30), "difficulty", 7);
    const first = ids(one, 0, 20);
    expect(ids(other, 0, 20)).toEqual(first);
    expect(ids(new TaskSampler(stream(30), "difficulty", 8), 0, 20)).not.toEqual(first);
    for (const id of first) one.note(id, [1, 1, 1, 1]);
    expect(ids(one, 0, 20)).toEqual(first);
  });

  it("go on from a checkpoint as if the run had not stopped", () => {
    const sampler = new TaskSampler(stream(30), "difficulty", 7);
    ids(sampler, 0, 10);
    sampler.note("t3", [1, 0]);
    const saved = JSON.parse(JSON.stringify(sampler.state([8, 9])));
    expect(saved.seen).toEqual({ t3: [2, 1] });
    expect(Object.keys(saved.picks)).toEqual(["8", "9"]);
    const resumed = new TaskSampler(stream(30), "difficulty", 7, saved);
    expect(ids(resumed, 8, 12)).toEqual(ids(sampler, 8, 12));
  });

  it("count rewards outside 0..1 as the nearer bound", () => {
    const sampler = new TaskSampler(stream(4), "difficulty", 1);
    sampler.note("t0", [-5, 9, 0.25]);
    expect(sampler.state([])?.seen).toEqual({ t0: [3, 1.25] });
  });

  it("come again in another order when a finite dataset has given all of them, each once an epoch", () => {
    const sampler = new TaskSampler(stream(20), "stream", 1);
    const all = ids(new TaskSampler(stream(20), "stream", 1), 0, 80);
    const epochs = [0, 1, 2, 3].map((epoch) => all.slice(20 * epoch, 20 * epoch + 20));
    for (const epoch of epochs) expect(new Set(epoch).size).toBe(20);
    expect(new Set(epochs.map(String)).size).toBe(4);
    // Asked out of turn, as a run does that resumes, or has groups of two epochs at work.
    for (const index of [79, 20, 60, 21, 19, 41]) expect(sampler.at(index).id).toBe(all[index]);
    expect(ids(new TaskSampler(stream(20), "stream", 2), 20, 20)).not.toEqual(epochs[1]);
    expect(ids(new TaskSampler(stream(1), "stream", 1), 0, 3)).toEqual(["t0", "t0", "t0"]);
  });

  it("are refused where there are none", () => {
    for (const mode of ["stream", "difficulty"] as const) {
      expect(() => new TaskSampler(stream(0), mode, 5)).toThrow(
        "The dataset has no training tasks: train(5) has length 0.",
      );
    }
  });

  it("are settled unless what is still to be seen may decide", () => {
    expect(new TaskSampler(stream(9), "stream", 1).settled(4)?.id).toBe("t4");
    const sampler = new TaskSampler(stream(9), "difficulty", 1);
    expect(sampler.settled(4)).toBeNull();
    const { id } = sampler.at(4);
    expect(sampler.settled(4)?.id).toBe(id);
  });
});
