import { drawMatrices } from "../../../src/bench/peer_work.ts";
import { installedVersion } from "./installed_version.mjs";
import { provideWebGpu } from "./web_gpu.mjs";

/** jax-js on a backend of its own, "webgpu" or "wasm". */
export async function open(work, backend) {
  await provideWebGpu();
  const jax = await import("@jax-js/jax");
  const backends = await jax.init();
  if (!backends.includes(backend)) throw new Error(`jax-js offers ${backends.join(", ")} here.`);
  jax.defaultDevice(backend);
  const library = `jax-js ${installedVersion("@jax-js/jax")}`;
  if (work.kind === "gpt_step") return { library, ...(await import("./jax_gpt.mjs")).gptStep(jax) };
  return { library, ...product(jax, work) };
}

/** Every use of an array consumes it unless `.ref` is taken. A transpose is a view, read by the product's kernel. */
function product({ numpy: np }, { size, form }) {
  const drawn = drawMatrices(size);
  const a = np.array(drawn.a).reshape([size, size]);
  const b = np.array(drawn.b).reshape([size, size]);
  const left = () => (form === "TN" ? a.ref.transpose() : a.ref);
  const right = () => (form === "NT" ? b.ref.transpose() : b.ref);
  let last = null;
  return {
    // jax-js computes late: a product disposed of before anyone waits for it is never computed. So all are kept.
    async run(count) {
      const products = Array.from({ length: count }, () => np.matmul(left(), right()));
      for (const product of products) await product.blockUntilReady();
      for (const product of products.slice(1)) product.dispose();
      last = products[0];
    },
    async value() {
      // Reading consumes it.
      return (await last.data())[0];
    },
  };
}
