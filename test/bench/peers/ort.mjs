import { availableParallelism } from "node:os";
import { drawMatrices } from "../../../src/bench/peer_work.ts";
import { installedVersion } from "./installed_version.mjs";
import { matmulModel } from "./onnx_model.mjs";

/** ONNX Runtime with one of its providers, "webgpu" (a Dawn of its own) or "cpu". It infers only: no training step. */
export async function open(work, provider) {
  if (work.kind !== "matmul") throw new Error("ONNX Runtime does not train.");
  const { default: ort } = await import("onnxruntime-node");
  const session = await ort.InferenceSession.create(matmulModel(work.size, work.form), {
    executionProviders: [provider],
    intraOpNumThreads: availableParallelism(),
  });
  const drawn = drawMatrices(work.size);
  const tensor = (values) => new ort.Tensor("float32", values, [work.size, work.size]);
  const inputs = { A: tensor(drawn.a), B: tensor(drawn.b) };
  let first = 0;
  return {
    library: `onnxruntime-node ${installedVersion("onnxruntime-node")}`,
    // Operands and products are the host's: with webgpu the copies are part of every run.
    async run(count) {
      for (let i = 0; i < count; i++) first = (await session.run(inputs)).C.data[0];
    },
    value: async () => first,
  };
}
