/** The layer table of the design as data: who may import what. Order is bottom to top. */
export interface Layer {
  name: string;
  /** Folder from the repository's root, with "/" at the end. */
  folder: string;
  /** Layers it may import, besides itself; "*" is all. */
  imports: readonly string[] | "*";
  /** Packages and builtins it may import: an exact name, or a prefix that ends in "/" or ":"; "*" is all. */
  packages: readonly string[] | "*";
  /** Packages it may import types from. */
  typePackages?: readonly string[];
}

export const layers: readonly Layer[] = [
  { name: "core", folder: "src/core/", imports: [], packages: [] },
  { name: "schema", folder: "src/schema/", imports: ["core"], packages: ["zod"] },
  { name: "io", folder: "src/io/", imports: ["core", "schema"], packages: ["@noble/hashes/"] },
  {
    name: "text",
    folder: "src/text/",
    imports: ["core", "schema"],
    packages: ["@huggingface/tokenizers", "@huggingface/jinja"],
    typePackages: ["@mlc-ai/web-xgrammar"],
  },
  { name: "gpu", folder: "src/gpu/", imports: ["core"], packages: [], typePackages: ["@webgpu/types"] },
  { name: "ops", folder: "src/ops/", imports: ["core", "gpu"], packages: [] },
  { name: "model", folder: "src/model/", imports: ["core", "schema", "io", "gpu", "ops"], packages: [] },
  { name: "infer", folder: "src/infer/", imports: ["core", "schema", "text", "gpu", "ops", "model"], packages: [] },
  { name: "rl", folder: "src/rl/", imports: ["core", "schema"], packages: [] },
  { name: "train", folder: "src/train/", imports: ["core", "schema", "rl", "gpu", "ops", "model"], packages: [] },
  { name: "schedule", folder: "src/schedule/", imports: ["core", "schema"], packages: [] },
  {
    name: "engine",
    folder: "src/engine/",
    imports: ["core", "schema", "io", "text", "gpu", "ops", "model", "infer", "train", "schedule"],
    packages: [],
  },
  { name: "store", folder: "src/store/", imports: ["core", "schema"], packages: [] },
  { name: "rollout", folder: "src/rollout/", imports: ["core", "schema"], packages: ["@marcbachmann/cel-js"] },
  {
    name: "experiment",
    folder: "src/experiment/",
    imports: ["core", "schema", "text", "rl", "schedule", "rollout"],
    packages: [],
  },
  {
    // What the studio shows in a browser: it knows the gateway by its routes only.
    name: "studio_client",
    folder: "gateway/studio/client/",
    imports: ["core", "schema"],
    packages: ["hono/jsx/", "uplot"],
  },
  {
    name: "gateway",
    folder: "gateway/",
    imports: ["core", "schema", "text", "rl", "store"],
    packages: ["hono", "hono/"],
    typePackages: ["zod"],
  },
  {
    name: "platform",
    folder: "src/platform/",
    imports: ["core", "schema"],
    packages: ["node:", "webgpu", "@sqlite.org/sqlite-wasm"],
  },
  { name: "app", folder: "src/app/", imports: "*", packages: "*" },
  { name: "cli", folder: "src/cli/", imports: "*", packages: "*" },
  { name: "bench", folder: "src/bench/", imports: "*", packages: "*" },
  { name: "examples", folder: "examples/", imports: [], packages: "*" },
  { name: "index", folder: "src/index.ts", imports: "*", packages: [] },
  { name: "package", folder: "src/build_package.ts", imports: [], packages: ["node:", "esbuild"] },
];

/** Files of the gateway that serve on one runtime: the edge, where that runtime's own modules are allowed. */
export const edgeFiles: RegExp = /^gateway\/(serve_\w+|service_worker)\.ts$/;
export const edgePackages: readonly string[] = ["hono", "hono/", "@hono/node-server", "@hono/node-server/", "node:"];

/** Where time, randomness and the runtime's own globals may be touched; elsewhere they are injected. */
export const impureFolders: readonly string[] = ["src/platform/", "src/app/", "examples/"];

/** Globals forbidden elsewhere, with what to use instead. */
export const forbiddenGlobals: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/(?<![.\w])Date\.now\b|(?<![.\w])new Date\(\)/, "Clock.now"],
  [/(?<![.\w])performance\.now\b/, "Clock.monotonic"],
  [/(?<![.\w])set(Timeout|Interval|Immediate)\(/, "Clock.sleep"],
  [/(?<![.\w])Math\.random\b/, "Rng of core/rng.ts"],
  [/(?<![.\w])crypto\.(getRandomValues|randomUUID)\b/, "Entropy"],
  [/(?<![.\w])process\./, "HostPlatform"],
  [/(?<![.\w])Deno\./, "HostPlatform"],
];

/** Longest file, in lines. */
export const maxLines = 300;
