import { expect, it } from "vitest";
import { digitsFacts } from "../../src/bench/digits_run.ts";

it("says when a batch was above 0.2 first, the best one, and how the run ended", () => {
  const line = (step: number, reward: number, more: object = {}) => ({
    ...{ step, time: 0, "training/reward": reward, "timing_s/step": 2, "training/logprob_diff_max": 1e-6 * step },
    ...more,
  });
  const ended = { "val/reward": 0.3, "actor/entropy": 0.2 };
  const run = [line(1, 0.1), line(2, 0.21), line(3, 0.33), line(4, 0.2, ended)];
  expect(digitsFacts(run, { seed: 1 })).toEqual({
    samples: [8000],
    facts: {
      ...{ best_batch: 0.33, passed_at: 2, last_batch: 0.2, held_out: 0.3, reply_tokens: null, entropy_last: 0.2 },
      ...{ explained_variance: null, logprob_diff: 4e-6, seed: 1 },
    },
  });
  expect(digitsFacts([{ step: 1, time: 0, "training/reward": 0.1 }], {})).toEqual({
    samples: [0],
    facts: {
      ...{ best_batch: 0.1, passed_at: null, last_batch: 0.1, held_out: null, reply_tokens: null, entropy_last: null },
      ...{ explained_variance: null, logprob_diff: null },
    },
  });
});
