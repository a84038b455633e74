import { playwright } from "@vitest/browser-playwright";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

/** Tests that open a GPU device; the same files run on Node, Deno and Chromium. */
const device = ["test/device/**/*.test.ts", "test/ops/**/*.test.ts"];
/** Tests that need the device and Node (files, processes, servers). */
const deviceNode = ["test/node/**/*.test.ts"];
/** Tests of a device without its optional features; they and the tests below run with those features off. */
const bare = ["test/bare/**/*.test.ts"];
/** What chooses its kernels by features, and what is made of it: every other kernel is the same without. */
const bareInBrowser = [
  "test/ops/{attention,packed_weights,sample,shaders}.test.ts",
  "test/device/{frozen_weights,inference,lora,model_forward,train_gradients,train_steps,tree_gradients}.test.ts",
];
const withoutFeatures = { LEYDEN_GPU_DISABLE: "subgroups,shader-f16,timestamp-query" };
/** Tests of what only browsers have. */
const browser = ["test/browser/**/*.test.ts"];
const long = ["test/long/**/*.test.ts"];
/** Tests that open the built page in a Chromium of their own: npm run test:page. */
const page = ["test/page/**/*.test.ts"];
/** Tests that run other people's agents, which a folder of its own installs: npm run test:harness. */
const harness = ["test/harness/*.test.ts"];
/** Packages the device tests reach; bundled for the browser before it starts, because a late one reloads the page. */
const browserPackages = [
  "@huggingface/jinja",
  "@huggingface/tokenizers",
  "@mlc-ai/web-xgrammar",
  "@noble/hashes/sha2.js",
  "fast-check",
  "zod",
];
/** Short vectors compile in half the time; kernels for long ones have a run of their own (.ci/run). */
const shortVectors = { LP_NATIVE_VECTOR_WIDTH: process.env.LP_NATIVE_VECTOR_WIDTH ?? "256" };

/** A project whose tests run in a page; `env` is what they find in import.meta.env. */
function inChromium(name: string, include: string[], env: Record<string, string> = {}): TestProjectInlineConfiguration {
  return {
    // SQLite finds its WebAssembly beside its module.
    optimizeDeps: { include: browserPackages, exclude: ["@sqlite.org/sqlite-wasm"] },
    test: {
      name,
      include,
      env,
      testTimeout: 300_000,
      fileParallelism: false,
      browser: {
        enabled: true,
        headless: true,
        screenshotFailures: false,
        provider: playwright({
          launchOptions: {
            executablePath: process.env.LEYDEN_CHROMIUM ?? "/usr/bin/chromium",
            args: ["--enable-unsafe-webgpu", "--no-sandbox", "--disable-background-networking"],
          },
        }),
        instances: [{ browser: "chromium" }],
      },
    },
  };
}

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "pure",
          include: ["test/**/*.test.ts"],
          exclude: [...device, ...deviceNode, ...bare, ...browser, ...long, ...page, "test/harness/**"],
          environment: "node",
          // On two cores one worker is the default; many of these tests wait for a process or a socket.
          maxWorkers: 2,
          // Some start real processes; a loaded machine needs time for that.
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: "device",
          include: [...device, ...deviceNode],
          environment: "node",
          env: shortVectors,
          fileParallelism: false,
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: "device_bare",
          include: [...device, "test/node/golden_{models,runtimes}.test.ts", ...bare],
          environment: "node",
          env: { ...shortVectors, ...withoutFeatures },
          fileParallelism: false,
          testTimeout: 120_000,
        },
      },
      {
        test: { name: "harness", include: harness, environment: "node", fileParallelism: false, testTimeout: 300_000 },
      },
      { test: { name: "page", include: page, environment: "node", fileParallelism: false, testTimeout: 300_000 } },
      { test: { name: "long", include: long, environment: "node", fileParallelism: false, testTimeout: 3_600_000 } },
      inChromium("browser", [...device, ...browser]),
      inChromium("browser_bare", [...bareInBrowser, ...bare], withoutFeatures),
    ],
  },
});
