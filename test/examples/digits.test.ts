/** Digit completion beside the data of the end-to-end check it is taken from, and its rewards token by token. */
import { readFileSync } from "node:fs";
import { parquetReadObjects } from "hyparquet";
import { describe, expect, it } from "vitest";
import { completion, tokenRewards } from "../../examples/digits/completion.ts";
import { allPrompts, answerOf, dataset } from "../../examples/digits/tasks.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { familyOf } from "../../src/model/families/registry.ts";
import { initialTensors } from "../../src/model/initialize.ts";
import { memoryWeights } from "../../src/model/memory_weights.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { itShared } from "../shared.ts";

const folder = new URL("../../examples/digits/", import.meta.url);
const json = (name: string): Record<string, unknown> => JSON.parse(readFileSync(new URL(name, folder), "utf8"));

/** Rewards of a reply given as text; a trailing "$" ends it. */
function rewardsOf(prompt: string, reply: string): number[] {
  const stopped = reply.endsWith("$");
  const tokens = [...reply].map((c) => (c === "$" ? "<eos>" : c));
  return tokenRewards({ task: { id: "t", input: { prompt }, hidden: { answer: answerOf(prompt) } }, tokens, stopped });
}

const total = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

function momentsOf(values: Float32Array): { mean: number; deviation: number } {
  const mean = total([...values]) / values.length;
  return { mean, deviation: Math.sqrt(total([...values].map((v) => (v - mean) ** 2)) / values.length) };
}

describe("digit completion", () => {
  it("continues the sequence modulo 9", () => {
    expect(answerOf("3,5:9,4")).toBe("7,0,2,4");
    expect(answerOf("8,3:9,3")).toBe("7,2,6");
    expect(answerOf("9,0:9,2")).toBe("0,0");
    expect(answerOf("1,2:9,0")).toBe("");
  });

  it("has 800 prompts to train on and 200 held out, every combination once, in another order each pass", () => {
    const held = dataset.heldOut.map((row) => row.input.prompt as string);
    const stream = dataset.train(1);
    const pass = (n: number): string[] => Array.from({ length: 800 }, (_, i) => stream.at(800 * n + i).id);
    const prompts = Array.from({ length: 800 }, (_, i) => stream.at(i).input.prompt as string);
    expect([...held, ...prompts].sort()).toEqual(allPrompts().sort());
    expect([...pass(1)].sort()).toEqual([...pass(0)].sort());
    expect(pass(1)).not.toEqual(pass(0));
    expect(dataset.train(1).at(1234)).toEqual(stream.at(1234));
    expect(dataset.train(2).at(0)).not.toEqual(stream.at(0));
  });

  it("pays each matching character a share, and the end once more where the last character matched", () => {
    const p = "3,5:9,2"; // answer 7,0: four shares
    expect(rewardsOf(p, "7,0$")).toEqual([0.25, 0.25, 0.25, 0.25]);
    expect(rewardsOf(p, "7$")).toEqual([0.25, 0.25]);
    expect(rewardsOf(p, "7,1$")).toEqual([0.25, 0.25, 0, 0]);
    expect(rewardsOf(p, "1,0$")).toEqual([0, 0, 0, 0]);
    expect(rewardsOf(p, "7,0,2$")).toEqual([0.25, 0.25, 0.25, 0, 0, 0]);
    expect(rewardsOf(p, "7,0")).toEqual([0.25, 0.25, 0.25]);
    expect(rewardsOf(p, "$")).toEqual([0]);
    expect(rewardsOf("1,2:9,0", "$")).toEqual([1]);
    expect(rewardsOf("1,2:9,0", "3$")).toEqual([0, 0]);
  });

  it("the trap: ending at once earns what the prompts that ask for nothing are worth, 0.1", () => {
    const rewards = allPrompts().map((prompt) => total(rewardsOf(prompt, "$")));
    expect(total(rewards) / rewards.length).toBeCloseTo(0.1, 12);
    const digit = allPrompts().map((prompt) => total(rewardsOf(prompt, `${answerOf(prompt)[0] ?? ""}$`)));
    expect(total(digit) / digit.length).toBeGreaterThan(0.3);
  });

  it("runs at upstream's settings", () => {
    const { train, rollout } = parseConfig(json("config.json"));
    expect(rollout.completion).toBe("./completion.ts");
    expect(completion.maxTokens).toBe(32);
    expect(train).toMatchObject({
      ...{ updates: 200, tasksPerUpdate: 800, groupSize: 1, miniBatches: 4, epochs: 1, temperature: 1 },
      ...{ advantage: "gae", advantageOptions: { gamma: 1, lambda: 1 }, loss: "ppo", clipLow: 0.2, clipHigh: 0.2 },
      ...{ learningRate: 1e-4, critic: "separate", criticLearningRate: 1e-3, valueClip: 0.5, maxGradNorm: 1 },
      ...{ klCoef: 0.005, klIn: "reward", klTarget: 0, normalisation: "token-mean", entropyCoef: 0 },
    });
  });

  itShared("has upstream's prompts, tokens and model", "assets/verl-arithmetic-sequence", async (assets) => {
    const read = async (name: string): Promise<string[]> => {
      const bytes = readFileSync(`${assets}/${name}.parquet`);
      const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
      const rows = (await parquetReadObjects({ file })) as { prompt: { content: string }[] }[];
      return rows.map((row) => row.prompt[0]?.content as string);
    };
    const [train, test] = [await read("train"), await read("test")];
    expect([train.length, test.length]).toEqual([800, 200]);
    expect([...train, ...test].sort()).toEqual(allPrompts().sort());

    const load = (at: string | URL): ChatFormat => {
      const parse = (name: string) =>
        JSON.parse(readFileSync(typeof at === "string" ? `${at}/${name}` : new URL(name, at), "utf8"));
      return ChatFormat.load({
        tokenizer: parse("tokenizer.json"),
        tokenizerConfig: parse("tokenizer_config.json"),
        modelConfig: parse("config.json"),
      } as never);
    };
    const own = load(new URL("model/", folder));
    const request = { messages: [{ role: "user" as const, content: "7,7:9,4" }] };
    expect([...own.encodeRequest(request, []).ids]).toEqual([11, 14, 11, 15, 13, 14, 8, 0]);
    expect(own.stopIds).toEqual([1]);
    expect(own.tokenizer.decode([4, 13, 14, 15])).toBe("09,:");

    const theirs = JSON.parse(readFileSync(`${assets}/config.json`, "utf8")) as Record<string, unknown>;
    const [a, b] = [json("model/config.json"), theirs].map((config) => {
      const parsed = parseHfConfig(config);
      return familyOf(parsed).describe(parsed);
    });
    expect(a).toEqual(b);
  });

  itShared("starts as upstream's weights do, tensor by tensor", "assets/verl-arithmetic-sequence", async (assets) => {
    const theirs = await memoryWeights("theirs", readFileSync(`${assets}/model.safetensors`));
    const parsed = parseHfConfig(json("model/config.json"));
    const family = familyOf(parsed);
    const tensors = [...initialTensors(family, family.describe(parsed), { seed: 1 })];
    expect(tensors.map(({ name }) => name).sort()).toEqual([...theirs.names].sort());
    for (const { name, shape, values } of tensors) {
      expect([name, shape]).toEqual([name, theirs.entry(name).shape]);
      const [own, upstream] = [momentsOf(values), momentsOf(await theirs.read(name))];
      // Of n normal draws the mean is off by deviation / sqrt(n), the deviation by that / sqrt(2); five times the noise of
      // both samples, and the rounding of upstream's bfloat16.
      const noise = (5 * Math.SQRT2 * 0.02) / Math.sqrt(values.length);
      const isNorm = name.includes("norm");
      expect(Math.abs(own.mean - upstream.mean), `${name}: mean`).toBeLessThanOrEqual(isNorm ? 0 : noise);
      expect(Math.abs(own.deviation - upstream.deviation), `${name}: deviation`).toBeLessThanOrEqual(
        isNorm ? 0 : noise / Math.SQRT2 + 0.02 / 256,
      );
    }
  });

  it("starts from random weights of a seed: 795,776 numbers, normal with deviation 0.02, norms 1", () => {
    const parsed = parseHfConfig(json("model/config.json"));
    const family = familyOf(parsed);
    const tensors = [...initialTensors(family, family.describe(parsed), { seed: 1 })];
    expect(tensors.reduce((n, t) => n + t.values.length, 0)).toBe(795_776);
    for (const { name, values } of tensors) {
      if (name.includes("norm")) expect([name, new Set(values)]).toEqual([name, new Set([1])]);
      else expect(momentsOf(values).deviation).toBeCloseTo(0.02, 2);
    }
  });
});
