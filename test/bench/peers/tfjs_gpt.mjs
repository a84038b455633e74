import { drawBatch, drawWeights, mulberry32, peerOptimizer, peerSizes } from "../../../src/bench/peer_work.ts";

const { layers, width, heads, ffn, vocab, rows, tokens } = peerSizes;
const { learningRate, beta1, beta2, eps } = peerOptimizer;

function initialWeights(tf) {
  const draw = mulberry32(1);
  const weights = (...shape) => tf.variable(tf.tensor(drawWeights(shape[0] * shape[1], draw), shape));
  const gains = () => tf.variable(tf.ones([width]));
  return {
    wte: weights(vocab, width),
    wpe: weights(tokens, width),
    lnf: gains(),
    blocks: Array.from({ length: layers }, () => ({
      ln1: gains(),
      ln2: gains(),
      wqkv: weights(width, 3 * width),
      wo: weights(width, width),
      w1: weights(width, ffn),
      w2: weights(ffn, width),
    })),
  };
}

/** 0 where a key may be seen, -1e9 where it comes later. */
function causalMask(tf) {
  const values = Float32Array.from({ length: tokens ** 2 }, (_, i) => (i % tokens > Math.floor(i / tokens) ? -1e9 : 0));
  return tf.tensor(values, [1, 1, tokens, tokens]);
}

/** Mean cross-entropy of one-hot tokens and targets. */
function lossOf(tf, { wte, wpe, lnf, blocks }) {
  const mask = causalMask(tf);
  const flat = [rows * tokens, width];
  const norm = (x, gain) => x.mul(x.square().mean(-1, true).add(1e-5).rsqrt()).mul(gain);
  const gelu = (x) => {
    const inner = x
      .pow(3)
      .mul(0.044715)
      .add(x)
      .mul(Math.sqrt(2 / Math.PI));
    return x.mul(inner.tanh().add(1)).mul(0.5);
  };
  const attend = (x, { wqkv, wo }) => {
    const parts = tf
      .matMul(x, wqkv)
      .reshape([rows, tokens, 3, heads, width / heads])
      .transpose([2, 0, 3, 1, 4]);
    const [q, k, v] = tf.unstack(parts, 0);
    const scores = tf.matMul(q, k, false, true).div(Math.sqrt(width / heads));
    const mixed = tf.matMul(tf.softmax(scores.add(mask)), v);
    return tf.matMul(mixed.transpose([0, 2, 1, 3]).reshape(flat), wo);
  };
  return (x, y) => {
    let h = tf.matMul(x, wte).reshape([rows, tokens, width]).add(wpe).reshape(flat);
    for (const block of blocks) {
      h = h.add(attend(norm(h, block.ln1), block));
      h = h.add(tf.matMul(gelu(tf.matMul(norm(h, block.ln2), block.w1)), block.w2));
    }
    const logits = tf.matMul(norm(h, lnf), wte, false, true);
    return tf
      .logSoftmax(logits)
      .mul(y)
      .sum()
      .mul(-1 / (rows * tokens));
  };
}

/**
 * The training step of src/bench/peer_step.ts, but with Adam: tfjs has no AdamW. Ten steps' decay of 1e-5 each shows in
 * the loss from the fifth decimal on, and costs it nothing here.
 */
export function gptStep(tf) {
  const weights = initialWeights(tf);
  const loss = lossOf(tf, weights);
  const adam = tf.train.adam(learningRate, beta1, beta2, eps);
  const draw = mulberry32(2);
  const oneHot = (ids) => tf.oneHot(tf.tensor1d(ids, "int32"), vocab).toFloat();
  let last = 0;
  return {
    async run(count) {
      for (let i = 0; i < count; i++) {
        const { ids, targets } = drawBatch(draw);
        const found = tf.tidy(() => {
          const [x, y] = [oneHot(ids), oneHot(targets)];
          return adam.minimize(() => loss(x, y), true);
        });
        last = (await found.data())[0];
        found.dispose();
        // The loss is there before the update; a weight read back has waited for that too.
        await weights.blocks[0].ln1.data();
      }
    },
    value: async () => last,
  };
}
