import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

/** Tests that open a GPU device; the same files run on Node, Deno and Chromium. */
const device = ["test/device/**/*.test.ts", "test/ops/**/*.test.ts"];
/** Tests that need the device and Node (files, processes, servers). */
const deviceNode = ["test/node/**/*.test.ts"];
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

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "pure",
          include: ["test/**/*.test.ts"],
          exclude: [...device, ...deviceNode, ...browser, ...long, ...page, "test/harness/**"],
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
          // Short vectors compile in half the time; kernels for long ones have a run of their own (.ci/run).
          env: { LP_NATIVE_VECTOR_WIDTH: process.env.LP_NATIVE_VECTOR_WIDTH ?? "256" },
          fileParallelism: false,
          testTimeout: 120_000,
        },
      },
      {
        test: { name: "harness", include: harness, environment: "node", fileParallelism: false, testTimeout: 300_000 },
      },
      { test: { name: "page", include: page, environment: "node", fileParallelism: false, testTimeout: 300_000 } },
      { test: { name: "long", include: long, environment: "node", fileParallelism: false, testTimeout: 3_600_000 } },
      {
        // SQLite finds its WebAssembly beside its module.
        optimizeDeps: { include: browserPackages, exclude: ["@sqlite.org/sqlite-wasm"] },
        test: {
          name: "browser",
          include: [...device, ...browser],
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
      },
    ],
  },
});
