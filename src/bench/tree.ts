import { Rng, seedKey } from "../core/rng.ts";
import { parseHfConfig } from "../io/hf_config.ts";
import { Model } from "../model/model.ts";
import { type TrainedSample, treeRows } from "../rl/trie/tree_rows.ts";
import { buildTrie, type TrieCall } from "../rl/trie/trie.ts";
import type { TrainRow } from "../schema/engine.ts";
import type { LossConfig } from "../schema/loss.ts";
import { Trainer } from "../train/trainer.ts";
import { type BenchContext, type Measurement, type Suite, summarizeSamples } from "./suite.ts";

/** A group of rollouts of one task, as a trainer gets it. */
const work = { group: 8, prompt_tokens: 512, answer_tokens: 64 };
const modelJson = {
  model_type: "llama",
  vocab_size: 512,
  hidden_size: 128,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  intermediate_size: 512,
  max_position_embeddings: 1024,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
};
const loss: LossConfig = {
  kind: "ppo",
  temperature: 1,
  clipLow: 0.2,
  clipHigh: 0.28,
  dualClip: 3,
  klCoef: 0,
  klKind: "k3",
  entropyCoef: 0,
};
const microBatchTokens = 8192;
/** Log-probability near that of a random model, so that ratios are not all clipped. */
const oldLogprob = -Math.log(modelJson.vocab_size);

/** Gradients of a group whose rollouts share a prompt: as one tree, and as a row per rollout. */
export const treeSuite: Suite = {
  name: "tree",
  summary: "gradients of a group of 8 with one prompt of 512 tokens, as one tree and as separate rows, in turns",
  async *run(context) {
    const device = await context.openDevice();
    try {
      const model = Model.initialize(device, parseHfConfig(modelJson), { seed: 1, std: 0.08 });
      const trainer = new Trainer(model, { microBatchTokens, clock: context.clock });
      yield await measure(context, trainer);
      trainer.dispose();
      model.dispose();
    } finally {
      device.close();
    }
  },
};

/** Calls with one prompt and answers of their own. */
function groupCalls(): TrieCall[] {
  const rng = new Rng(seedKey(1));
  const draw = (count: number): number[] => Array.from({ length: count }, () => rng.below(modelJson.vocab_size));
  const promptIds = draw(work.prompt_tokens);
  return Array.from({ length: work.group }, (_, i) => ({
    id: `${i}`,
    attempt: "0",
    rollout: `${i}`,
    promptIds,
    replyIds: draw(work.answer_tokens),
    logprobs: new Float64Array(work.answer_tokens).fill(oldLogprob),
    versions: null,
  }));
}

function rowsOf(calls: readonly TrieCall[], first: number): TrainRow[] {
  const trie = buildTrie(calls);
  const weight = 1 / (work.group * work.answer_tokens);
  const trained: TrainedSample[] = trie.samples.map(({ logprobs }, sample) => ({
    sample,
    weight,
    advantage: (first + sample) % 2 === 0 ? 1 : -1,
    oldLogprobs: logprobs as Float64Array,
  }));
  return treeRows(trie, trained, microBatchTokens).rows.map(({ row }) => row);
}

async function measure({ clock, repeats }: BenchContext, trainer: Trainer): Promise<Measurement> {
  const calls = groupCalls();
  const tree = rowsOf(calls, 0);
  const separate = calls.flatMap((call, i) => rowsOf([call], i));
  const time = async (rows: readonly TrainRow[]): Promise<number> => {
    const start = clock.monotonic();
    await trainer.computeGradients(rows, loss);
    return clock.monotonic() - start;
  };
  await trainer.computeGradients(separate, loss);
  const expected = await gradientsOf(trainer);
  await trainer.computeGradients(tree, loss);
  const worst = worstDistance(await gradientsOf(trainer), expected);
  const samples = { rows: [] as number[], tree: [] as number[] };
  for (let i = 0; i < repeats; i++) {
    samples.rows.push(await time(separate));
    samples.tree.push(await time(tree));
  }
  const [rowsMs, treeMs] = [summarizeSamples(samples.rows).median, summarizeSamples(samples.tree).median];
  const tokens = (rows: readonly TrainRow[]): number => rows.reduce((n, row) => n + row.ids.length, 0);
  return {
    name: "tree",
    samples: samples.tree,
    facts: {
      rows_ms: rowsMs,
      tree_ms: treeMs,
      speedup: rowsMs / treeMs,
      max_grad_rel_err: worst,
      config: {
        ...work,
        rows_tokens: tokens(separate),
        tree_tokens: tokens(tree),
        parameters: trainer.gradients.layout.count,
        ...{ width: modelJson.hidden_size, layers: modelJson.num_hidden_layers },
      },
    },
  };
}

async function gradientsOf(trainer: Trainer): Promise<Float32Array[]> {
  const names = [...trainer.gradients.layout.parameters.keys()];
  return Promise.all(names.map((name) => trainer.gradients.read(name)));
}

/** Largest ||a - b|| / max(||b||, 1e-3 of the whole gradient's norm) over the tensors. */
function worstDistance(a: readonly Float32Array[], b: readonly Float32Array[]): number {
  const whole = norm(b.map(norm));
  const distances = b.map((expected, t) => {
    const got = a[t] as Float32Array;
    return norm(expected.map((x, i) => x - (got[i] as number))) / Math.max(norm(expected), 1e-3 * whole);
  });
  return Math.max(...distances);
}

function norm(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i] as number) ** 2;
  return Math.sqrt(sum);
}
