import { describe, expect, it } from "vitest";
import { requireHeldOut, requireValidation } from "../../src/experiment/evaluation.ts";
import type { Dataset } from "../../src/schema/task.ts";

const task = { id: "t", input: {}, hidden: {} };
const of = (heldOut: Dataset["heldOut"]): Dataset => ({ heldOut, train: () => ({ length: 1, at: () => task }) });
const every = (n: number) => ({ eval: { every: n, tasks: 0, samples: 1, temperature: 1 } });

describe("a validation", () => {
  it("is refused where no tasks are held out, whose mean would be no reward of 0", () => {
    expect(() => requireValidation(every(2), of([]))).toThrow(
      "eval.every is 2, but the dataset holds out no tasks: heldOut is empty.",
    );
    const thrown = (() => {
      try {
        requireHeldOut(of([]), "Held-out tasks are asked for", "Give some.");
      } catch (error) {
        return error;
      }
    })();
    expect(thrown).toMatchObject({ code: "config", exitCode: 4, do: "Give some." });
  });

  it("is none where none is asked for, and one where there are tasks", () => {
    expect(() => requireValidation(every(0), of([]))).not.toThrow();
    expect(() => requireValidation(every(1), of([task]))).not.toThrow();
  });
});
