/**
 * Replies whose tokens need the host one by one, through the engine over a random model: likeliest tokens, penalties,
 * bias, constraints, forced tokens among them. The model's own distribution is taken by forcing each token in turn.
 */
import { describe, expect, it } from "#test";
import { type EngineOptions, engineDefaults } from "../../src/engine/engine_options.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { ModelParts } from "../../src/engine/model_parts.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { Model } from "../../src/model/model.ts";
import type { GenerateRequest, GenerateResult } from "../../src/schema/engine.ts";
import type { ConstraintCompiler } from "../../src/schema/token_constraint.ts";
import { qwen3Config } from "../model/configs.ts";
import { openTestDevice } from "../runtime/gpu.ts";

const vocab = 61;
const config = parseHfConfig({ ...qwen3Config, vocab_size: vocab, max_position_embeddings: 128 });
const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };
const promptIds = Int32Array.from({ length: 20 }, (_, i) => (7 * i) % 19);

/** A constraint that lets ids through by parity of the place: even ids at even places, odd ones after; it may give up. */
function parity(log: string[]): ConstraintCompiler {
  return {
    compile: async (spec) => {
      if (spec.kind !== "grammar") throw new Error("no grammar");
      const [, forbids = "", freeFrom = "99"] = spec.grammar.split(" ");
      const seen: number[] = [];
      return {
        async mask(out) {
          if (seen.length >= Number(freeFrom)) return false;
          for (let id = 0; id < vocab; id++) {
            const word = id >> 5;
            if (id % 2 === seen.length % 2 && forbids === "") out[word] = (out[word] as number) | (1 << (id & 31));
          }
          return true;
        },
        accept: (id) => void seen.push(id),
        dispose: () => void log.push(`disposed ${seen.join()}`),
      };
    },
  };
}

async function withEngine(run: (engine: LocalEngine, log: string[]) => Promise<void>): Promise<void> {
  const log: string[] = [];
  const options: EngineOptions = {
    ...engineDefaults,
    ...{ modelFolder: "", kvTokens: 2048, maxSequences: 64, train: false },
  };
  const engine = await LocalEngine.open({
    open: async () => {
      const model = Model.initialize(await openTestDevice(), config, { seed: 5, std: 0.4 });
      return new ModelParts({ model, options, clock, decodeText: () => "", constraints: parity(log) });
    },
    ...{ clock, limits: options, version: 0, faults: [] },
  });
  await run(engine, log);
  await engine.close();
}

let requests = 0;
function request(more: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    id: `r${requests++}`,
    promptIds,
    maxTokens: 6,
    sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
    key: [7, 11],
    stopIds: [],
    stopStrings: [],
    ...more,
  };
}

/** Log-probabilities of every id after the prompt and `reply`. */
async function distribution(engine: LocalEngine, reply: readonly number[], temperature = 1): Promise<number[]> {
  const sampling = { temperature, topK: 0, topP: 1, minP: 0 };
  const results = await Promise.all(
    Array.from({ length: vocab }, (_, id) =>
      engine.generate(request({ forcedIds: Int32Array.from([...reply, id]), maxTokens: reply.length + 1, sampling })),
    ),
  );
  return results.map((r) => r.logprobs[reply.length] as number);
}

const grammar = (text: string): Pick<GenerateRequest, "constraint"> => ({
  constraint: { kind: "grammar", grammar: text },
});

const logSum = (values: readonly number[]): number => Math.log(values.reduce((sum, l) => sum + Math.exp(l), 0));
const bits = ({ ids, logprobs }: GenerateResult): string => `${ids.join()} ${new Uint32Array(logprobs.slice().buffer)}`;

describe("adjusted generation", () => {
  it("reports the likeliest tokens and draws the very bits of a burst", async () => {
    await withEngine(async (engine) => {
      const plain = await engine.generate(request());
      const asked = await engine.generate(request({ topLogprobs: 5 }));
      expect(bits(asked)).toBe(bits(plain));
      expect(plain.topLogprobs).toBe(undefined);
      expect(asked.truncated).toBe(false);
      const top = asked.topLogprobs as NonNullable<GenerateResult["topLogprobs"]>;
      expect([top.count, top.ids.length, top.logprobs.length]).toEqual([5, 30, 30]);
      for (const at of [0, 3]) {
        const own = await distribution(engine, Array.from(asked.ids.slice(0, at)));
        const best = own.map((l, id) => ({ l, id })).sort((a, b) => b.l - a.l);
        expect(Array.from(top.ids.slice(5 * at, 5 * at + 5))).toEqual(best.slice(0, 5).map((b) => b.id));
        for (let r = 0; r < 5; r++) expect(top.logprobs[5 * at + r] as number).toBeCloseTo(best[r]?.l as number, 5);
      }
    });
  });

  it("leaves out of them what truncation leaves out", async () => {
    await withEngine(async (engine) => {
      const sampling = { temperature: 0.7, topK: 3, topP: 1, minP: 0 };
      const { topLogprobs: top, truncated } = await engine.generate(
        request({ topLogprobs: 4, maxTokens: 1, sampling }),
      );
      expect(truncated).toBe(true);
      expect(top?.ids[3]).toBe(-1);
      expect(logSum(Array.from(top?.logprobs.slice(0, 3) ?? []))).toBeCloseTo(0, 5);
      const nucleus = { temperature: 1, topK: 0, topP: 0.4, minP: 0 };
      const cut = await engine.generate(request({ topLogprobs: 20, maxTokens: 1, sampling: nucleus }));
      const kept = Array.from(cut.topLogprobs?.logprobs ?? []).filter(Number.isFinite);
      expect(kept.length).toBeLessThan(20);
      expect(logSum(kept)).toBeCloseTo(0, 5);
    });
  });

  it("adds biases, and reports the log-probabilities of the changed distribution", async () => {
    await withEngine(async (engine) => {
      const own = await distribution(engine, []);
      const logitBias = [
        [3, 2],
        [8, -100],
      ] as const;
      const got = await engine.generate(request({ adjustments: { logitBias }, topLogprobs: 20, maxTokens: 1 }));
      const shifted = own.map((l, id) => l + (id === 3 ? 2 : id === 8 ? -100 : 0));
      const total = logSum(shifted);
      expect(got.logprobs[0] as number).toBeCloseTo((shifted[got.ids[0] as number] as number) - total, 4);
      const at = got.topLogprobs?.ids.indexOf(3) as number;
      expect(got.topLogprobs?.logprobs[at] as number).toBeCloseTo((shifted[3] as number) - total, 4);
      expect(got.truncated).toBe(true);
      const always = await engine.generate(request({ adjustments: { logitBias: [[7, 1000]] } }));
      expect(Array.from(always.ids)).toEqual([7, 7, 7, 7, 7, 7]);
    });
  });

  it("penalises by count, by presence, and by repetition of the prompt too", async () => {
    await withEngine(async (engine) => {
      const once = await engine.generate(request({ maxTokens: 40, adjustments: { frequencyPenalty: 1000 } }));
      expect(new Set(once.ids).size).toBe(40);
      const present = await engine.generate(request({ maxTokens: 40, adjustments: { presencePenalty: 1000 } }));
      expect(bits(present)).toBe(bits(once));
      const forcedIds = Int32Array.from([5, 5, 9]);
      const own = await distribution(engine, [5, 5, 9]);
      const adjustments = { frequencyPenalty: 0.5, presencePenalty: 0.25 };
      const mixed = await engine.generate(request({ forcedIds, adjustments, maxTokens: 4, topLogprobs: 20 }));
      const shifted = own.map((l, id) => l - (id === 5 ? 1.25 : id === 9 ? 0.75 : 0));
      const drawn = mixed.ids[3] as number;
      expect(mixed.logprobs[3] as number).toBeCloseTo((shifted[drawn] as number) - logSum(shifted), 4);
      const untouched = await engine.generate(request({ forcedIds, maxTokens: 3 }));
      expect(Array.from(mixed.logprobs.slice(0, 3))).toEqual(Array.from(untouched.logprobs));
      const fresh = await engine.generate(request({ maxTokens: 20, adjustments: { repetitionPenalty: 1e6 } }));
      // Dividing positive logits by a million leaves them near 0: what is new with a positive logit is always likelier.
      expect(Array.from(fresh.ids.slice(0, 3)).some((id) => promptIds.includes(id))).toBe(false);
    });
  });

  it("draws under a constraint, with the log-probabilities of the masked distribution, beside free rows", async () => {
    await withEngine(async (engine, log) => {
      const own = await distribution(engine, []);
      const free = Array.from({ length: 3 }, () => engine.generate(request({ maxTokens: 30 })));
      const masked = await engine.generate(request(grammar("parity")));
      expect(Array.from(masked.ids, (id) => id % 2)).toEqual([0, 1, 0, 1, 0, 1]);
      expect(masked.constrained).toBe(true);
      const even = logSum(own.filter((_, id) => id % 2 === 0));
      expect(masked.logprobs[0] as number).toBeCloseTo((own[masked.ids[0] as number] as number) - even, 4);
      const [first, ...others] = await Promise.all(free);
      for (const other of others) expect(bits(other)).toBe(bits(first as GenerateResult));
      expect(first?.constrained).toBe(undefined);
      expect(log).toEqual([`disposed ${masked.ids.slice(0, 5).join()}`]);
    });
  });

  it("frees a reply that its constraint lets go, and forces tokens through one", async () => {
    await withEngine(async (engine) => {
      const plain = await engine.generate(request());
      const never = await engine.generate(request(grammar("parity  0")));
      expect(never.constrained).toBe(undefined);
      expect(bits(never)).toBe(bits(plain));
      const forcedIds = plain.ids.slice(0, 2);
      const forced = await engine.generate(request({ ...grammar("parity"), forcedIds, maxTokens: 4 }));
      expect(Array.from(forced.logprobs.slice(0, 2))).toEqual(Array.from(plain.logprobs.slice(0, 2)));
      expect(Array.from(forced.ids.slice(2), (id) => id % 2)).toEqual([0, 1]);
    });
  });

  it("ends only the reply that has nowhere to go or whose constraint cannot be made", async () => {
    await withEngine(async (engine) => {
      const free = engine.generate(request());
      await expect(engine.generate(request(grammar("parity all")))).rejects.toMatchObject({
        code: "constraint_dead_end",
        message: "After 0 tokens of the reply its constraint allows no token that the model can draw.",
      });
      await expect(engine.generate(request({ constraint: { kind: "json_object" } }))).rejects.toThrow("no grammar");
      expect((await free).ids).toHaveLength(6);
      const late = engine.generate({ ...request(grammar("parity")), id: "late" });
      await engine.cancel("late");
      expect(await late).toMatchObject({ finishReason: "cancelled" });
      expect((await engine.stats()).activeSequences).toBe(0);
    });
  });

  it("refuses settings out of range, by name", async () => {
    await withEngine(async (engine) => {
      for (const [more, text] of [
        [{ topLogprobs: 21 }, "topLogprobs must be an integer of 0..20, got 21."],
        [{ adjustments: { repetitionPenalty: 0 } }, "repetitionPenalty must be more than 0, got 0."],
        [{ adjustments: { frequencyPenalty: Number.NaN } }, "frequencyPenalty must be finite, got NaN."],
        [{ adjustments: { logitBias: [[61, 1]] } }, "logitBias needs ids of 0..60 with finite biases, got 61: 1."],
        [
          {
            adjustments: {
              logitBias: [
                [1, 1],
                [1, 2],
              ],
            },
          },
          "logitBias names a token more than once.",
        ],
      ] as [Partial<GenerateRequest>, string][]) {
        await expect(engine.generate(request(more))).rejects.toThrow(text);
      }
    });
  });
});
