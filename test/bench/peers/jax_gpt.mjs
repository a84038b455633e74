import { drawBatch, drawWeights, mulberry32, peerOptimizer, peerSizes } from "../../../src/bench/peer_work.ts";

const { layers, width, heads, ffn, vocab, rows, tokens } = peerSizes;
const { learningRate, beta1, beta2, eps, weightDecay } = peerOptimizer;

function initialWeights(np) {
  const draw = mulberry32(1);
  const weights = (...shape) => np.array(drawWeights(shape[0] * shape[1], draw)).reshape(shape);
  const gains = () => np.ones([width]);
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

/** Mean cross-entropy as a function of the weights and of one-hot tokens and targets. */
function lossOf({ numpy: np, nn }) {
  const norm = (x, gain) => {
    const square = np.mean(np.square(x.ref), -1, { keepdims: true });
    return x.mul(np.reciprocal(np.sqrt(square.add(1e-5)))).mul(gain);
  };
  const attend = (x, { wqkv, wo }) => {
    const parts = np.split(np.matmul(x, wqkv).reshape([rows, tokens, 3, heads, width / heads]), 3, 2);
    const [q, k, v] = parts.map((part) => part.reshape([rows, tokens, heads, width / heads]));
    const mixed = nn.dotProductAttention(q, k, v, { isCausal: true });
    return np.matmul(mixed.reshape([rows, tokens, width]), wo);
  };
  return ({ wte, wpe, lnf, blocks }, x, y) => {
    let h = np.matmul(x, wte.ref).reshape([rows, tokens, width]).add(wpe);
    for (const { ln1, ln2, w1, w2, ...attention } of blocks) {
      h = h.ref.add(attend(norm(h, ln1), attention));
      h = h.ref.add(np.matmul(nn.gelu(np.matmul(norm(h, ln2), w1)), w2));
    }
    const logits = np.matmul(norm(h, lnf).reshape([rows * tokens, width]), wte.transpose());
    return np.sum(nn.logSoftmax(logits, -1).mul(y)).mul(-1 / (rows * tokens));
  };
}

/** Loss, gradient and AdamW, compiled as one function; its own AdamW because no package of jax-js has one. */
function compiledStep(jax) {
  const { numpy: np, jit, tree, valueAndGrad } = jax;
  const gradient = valueAndGrad(lossOf(jax));
  return jit((p, m, v, x, y, t) => {
    const [loss, g] = gradient(tree.ref(p), x, y);
    const bias = (beta, time) => np.subtract(1, np.exp(time.mul(Math.log(beta))));
    const [bias1, bias2] = [bias(beta1, t.ref), bias(beta2, t)];
    const m2 = tree.map((old, now) => old.mul(beta1).add(now.mul(1 - beta1)), m, tree.ref(g));
    const v2 = tree.map((old, now) => old.mul(beta2).add(np.square(now).mul(1 - beta2)), v, g);
    const moved = (w, mean, square) => {
      const update = mean.div(bias1.ref).div(np.sqrt(square.div(bias2.ref)).add(eps));
      return w.ref.sub(update.add(w.mul(weightDecay)).mul(learningRate));
    };
    const p2 = tree.map(moved, p, tree.ref(m2), tree.ref(v2));
    bias1.dispose();
    bias2.dispose();
    return [loss, p2, m2, v2];
  });
}

/** The training step of src/bench/peer_step.ts. */
export function gptStep(jax) {
  const { numpy: np, nn, tree } = jax;
  const step = compiledStep(jax);
  const zeros = (weights) => tree.map((x) => np.zeros(x.shape), weights);
  let p = initialWeights(np);
  let [m, v] = [zeros(p), zeros(p)];
  const draw = mulberry32(2);
  let time = 0;
  let loss = 0;
  const oneHot = (ids) => nn.oneHot(np.array(ids, { dtype: np.int32 }), vocab);
  return {
    async run(count) {
      for (let i = 0; i < count; i++) {
        const { ids, targets } = drawBatch(draw);
        time += 1;
        let found;
        [found, p, m, v] = step(p, m, v, oneHot(ids), oneHot(targets), np.array(time));
        loss = (await found.data())[0];
        await jax.blockUntilReady(p);
      }
    },
    value: async () => loss,
  };
}
