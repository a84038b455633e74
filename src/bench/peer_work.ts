// What the compared libraries compute. Their programs in test/bench/peers import it: it stays free of everything else.

/** Sizes of the training step that is compared with other WebGPU libraries. */
export const peerSizes = { layers: 4, width: 256, heads: 4, ffn: 1024, vocab: 512, rows: 8, tokens: 128 } as const;

/** AdamW of that step. */
export const peerOptimizer = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0.01 } as const;

/** A piece of work by its name: the training step, or a square f32 product. */
export type PeerWork =
  | { readonly kind: "gpt_step" }
  | { readonly kind: "matmul"; readonly size: number; readonly form: "NN" | "NT" | "TN" };

/** Name of a piece of work. */
export type PeerWorkName = "matmul_512_nn" | "matmul_1024_nn" | "matmul_512_nt" | "matmul_512_tn" | "gpt_step";

/** The work that is compared, by name. */
export const peerWorks: Readonly<Record<PeerWorkName, PeerWork>> = {
  matmul_512_nn: { kind: "matmul", size: 512, form: "NN" },
  matmul_1024_nn: { kind: "matmul", size: 1024, form: "NN" },
  matmul_512_nt: { kind: "matmul", size: 512, form: "NT" },
  matmul_512_tn: { kind: "matmul", size: 512, form: "TN" },
  gpt_step: { kind: "gpt_step" },
};

/** Uniform numbers in [0, 1) of the generator mulberry32, which all compared libraries draw from. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` normal weights with deviation 0.02. Source: Box & Muller 1958. */
export function drawWeights(count: number, draw: () => number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: count }, () => {
    const radius = Math.sqrt(-2 * Math.log(draw() + 1e-12));
    return 0.02 * radius * Math.cos(2 * Math.PI * draw());
  });
}

/** Tokens and their targets, (rows, tokens): the next token is 7 x + 3 plus a number below 4, modulo the vocabulary. */
export function drawBatch(draw: () => number): { ids: Int32Array<ArrayBuffer>; targets: Int32Array<ArrayBuffer> } {
  const { rows, tokens, vocab } = peerSizes;
  const [ids, targets] = [new Int32Array(rows * tokens), new Int32Array(rows * tokens)];
  for (let row = 0; row < rows; row++) {
    let token = Math.floor(draw() * vocab);
    for (let i = row * tokens; i < (row + 1) * tokens; i++) {
      ids[i] = token;
      token = (token * 7 + 3 + Math.floor(draw() * 4)) % vocab;
      targets[i] = token;
    }
  }
  return { ids, targets };
}

/** Both operands of a product, (size, size), uniform in [-0.5, 0.5). */
export function drawMatrices(size: number): Record<"a" | "b", Float32Array<ArrayBuffer>> {
  const draw = mulberry32(size);
  const matrix = () => Float32Array.from({ length: size * size }, () => draw() - 0.5);
  return { a: matrix(), b: matrix() };
}
