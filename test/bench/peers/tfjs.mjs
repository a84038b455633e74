import { drawMatrices } from "../../../src/bench/peer_work.ts";
import { provideWebGpu } from "./web_gpu.mjs";

/** TensorFlow.js on its WebGPU backend. */
export async function open(work) {
  await provideWebGpu();
  const tf = await import("@tensorflow/tfjs");
  await import("@tensorflow/tfjs-backend-webgpu");
  if (!(await tf.setBackend("webgpu"))) throw new Error("tfjs did not accept the WebGPU of this runtime.");
  await tf.ready();
  const library = `tfjs ${tf.version.tfjs}`;
  if (work.kind === "gpt_step") return { library, ...(await import("./tfjs_gpt.mjs")).gptStep(tf) };
  return { library, ...product(tf, work) };
}

function product(tf, { size, form }) {
  const drawn = drawMatrices(size);
  const [a, b] = [tf.tensor(drawn.a, [size, size]), tf.tensor(drawn.b, [size, size])];
  let first = 0;
  return {
    async run(count) {
      let last = null;
      for (let i = 0; i < count; i++) {
        last?.dispose();
        last = tf.matMul(a, b, form === "TN", form === "NT");
      }
      // It has no way to wait for the device but to read: one element.
      const corner = tf.slice(last, [0, 0], [1, 1]);
      first = (await corner.data())[0];
      tf.dispose([last, corner]);
    },
    value: async () => first,
  };
}
