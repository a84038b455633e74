// The checker itself: each planted violation must be found, and what is allowed must not be.
import { describe, expect, it } from "vitest";
import {
  deviceViolations,
  layerViolations,
  lengthViolations,
  nameViolations,
  opViolations,
  portabilityViolations,
  purityViolations,
} from "./rules.ts";
import { codeOnly, importsOf } from "./source.ts";

const one = (path: string, text: string) => [{ path, text }];

describe("imports of a file", () => {
  it("are found in every form", () => {
    const text = [
      'import a from "./a.ts";',
      'import type { B } from "./b.ts";',
      'import "./c.mjs";',
      "import {",
      "  d,",
      "  type E,",
      '} from "d";',
      'export { f } from "./f.ts";',
      'export * from "./g.ts";',
      'const h = await import("./h.ts");',
      "const i = await import(name);",
      'type J = import("./j.ts").J;',
    ].join("\n");
    expect(importsOf(text)).toEqual([
      { specifier: "./a.ts", line: 1, typeOnly: false },
      { specifier: "./b.ts", line: 2, typeOnly: true },
      { specifier: "./c.mjs", line: 3, typeOnly: false },
      { specifier: "d", line: 4, typeOnly: false },
      { specifier: "./f.ts", line: 8, typeOnly: false },
      { specifier: "./g.ts", line: 9, typeOnly: false },
      { specifier: "./h.ts", line: 10, typeOnly: false },
      { specifier: "?", line: 11, typeOnly: false },
      { specifier: "./j.ts", line: 12, typeOnly: false },
    ]);
  });

  it("are not found in comments or in values", () => {
    const text = ['// import a from "a";', '/* import "b"; */', 'export const c = "d";', 'const from = "e";'].join(
      "\n",
    );
    expect(importsOf(text)).toEqual([]);
  });
});

describe("code without literals", () => {
  it("keeps what stands in templates, nested ones too", () => {
    const part = "$" + "{";
    const text = `a(\`process. ${part}b ? \`Deno. ${part}c({ d: "}" })} x\` : e} y\`); f();`;
    expect(codeOnly(text).replace(/ +/g, " ")).toBe("a( b ? c({ d: }) : e ); f();");
  });

  it("keeps lines and code, drops comments, strings and patterns", () => {
    const text = 'a(); // process.x\n/* Deno.\n */ b("process.y", /"process\\.[/]"/g);\n`process.z \\``; e / f / g;';
    const code = codeOnly(text);
    expect(code.split("\n").map((line) => line.replace(/ +/g, " ").trim())).toEqual([
      "a();",
      "",
      "b( , );",
      "; e / f / g;",
    ]);
  });
});

describe("layer table", () => {
  it("finds an import upwards", () => {
    expect(layerViolations(one("src/rl/trie.ts", 'import { x } from "../gpu/device.ts";'))).toEqual([
      "src/rl/trie.ts:1: rl may not import gpu (../gpu/device.ts)",
    ]);
    expect(layerViolations(one("gateway/app.ts", 'import type { X } from "../src/engine/x.ts";'))).toEqual([
      "gateway/app.ts:1: gateway may not import engine (../src/engine/x.ts)",
    ]);
  });

  it("allows what the table allows", () => {
    const text = 'import { a } from "../core/a.ts";\nimport { b } from "./b.ts";\nimport { z } from "zod";';
    expect(layerViolations(one("src/schema/x.ts", text))).toEqual([]);
    expect(
      layerViolations(one("src/cli/x.ts", 'import "../engine/e.ts";\nimport "node:fs";\nawait import(x);')),
    ).toEqual([]);
  });

  it("finds packages and builtins that a layer may not use", () => {
    expect(layerViolations(one("src/core/x.ts", 'import { z } from "zod";'))).toEqual([
      "src/core/x.ts:1: core may not import zod",
    ]);
    expect(layerViolations(one("gateway/app.ts", 'import fs from "node:fs";'))).toEqual([
      "gateway/app.ts:1: gateway may not import node:fs",
    ]);
    expect(layerViolations(one("gateway/serve_node.ts", 'import fs from "node:fs";'))).toEqual([]);
    expect(layerViolations(one("gateway/app.ts", 'import { Hono } from "hono-extra";'))).toHaveLength(1);
  });

  it("keeps examples on the package's entries", () => {
    expect(layerViolations(one("examples/calc/x.ts", 'import "../../src/core/rng.ts";'))).toEqual([
      "examples/calc/x.ts:1: examples may not import core (../../src/core/rng.ts)",
    ]);
    expect(layerViolations(one("examples/calc/x.ts", 'import { f } from "leyden";\nimport "./y.ts";'))).toEqual([]);
  });

  it("finds files without a place, missing suffixes and hidden imports", () => {
    expect(layerViolations(one("src/extra/x.ts", ""))).toEqual(["src/extra/x.ts: is in no layer"]);
    expect(layerViolations(one("src/rl/x.ts", 'import "./y";'))).toEqual([
      "src/rl/x.ts:1: import of ./y lacks its suffix",
    ]);
    expect(layerViolations(one("src/rl/x.ts", "await import(y);"))).toEqual([
      "src/rl/x.ts:1: import() of something that is not a literal",
    ]);
  });
});

describe("purity", () => {
  it.each([
    "const t = Date.now();",
    "const t = new Date();",
    "const t = performance.now();",
    "const r = Math.random();",
    "setTimeout(f, 1);",
    "setInterval(f, 1);",
    "crypto.getRandomValues(x);",
    "const id = crypto.randomUUID();",
    "process.exit(0);",
    "const e = `$" + "{process.env.X}`;",
    "Deno.exit(0);",
  ])("finds %s", (text) => {
    expect(purityViolations(one("src/rl/x.ts", `\n${text}`))).toEqual([
      expect.stringMatching(/^src\/rl\/x\.ts:2: .* is not allowed here/),
    ]);
    expect(purityViolations(one("src/cli/x.ts", text))).toHaveLength(1);
  });

  it("leaves edges, comments, texts and other names alone", () => {
    for (const path of ["src/platform/x.ts", "src/app/x.ts", "gateway/serve_node.ts", "gateway/service_worker.ts"]) {
      expect(purityViolations(one(path, "process.exit(Date.now());"))).toEqual([]);
    }
    const text =
      '// Date.now()\nconst a = "process.env";\nclock.Date.now();\nnew Date(ms);\nattempt.process.kill();\nsubprocess.x();';
    expect(purityViolations(one("gateway/app.ts", text))).toEqual([]);
  });
});

describe("tests for every runtime", () => {
  it("may not import what only one has", () => {
    const text =
      'import { it } from "vitest";\nimport { x } from "#test";\nimport "../runtime/gpu.ts";\nimport fs from "node:fs";';
    expect(portabilityViolations(one("test/ops/x.test.ts", text))).toEqual([
      "test/ops/x.test.ts:1: runs on every runtime; import #test instead of vitest",
      "test/ops/x.test.ts:4: runs on every runtime; import #test instead of node:fs",
    ]);
    expect(portabilityViolations(one("test/node/x.test.ts", text))).toEqual([]);
  });

  it("opens devices as the run asks for them", () => {
    const text = "// openDevice(gpu)\nawait openTestDevice();\nawait openDevice(gpu);";
    expect(deviceViolations(one("test/device/x.test.ts", text))).toEqual([
      "test/device/x.test.ts:3: openDevice is not allowed here; use openTestDevice",
    ]);
    expect(deviceViolations(one("test/node/x.test.ts", text))).toEqual([]);
  });
});

describe("length and names", () => {
  it("are checked at their bounds", () => {
    expect(lengthViolations(one("a.ts", "x\n".repeat(300)))).toEqual([]);
    expect(lengthViolations(one("a.ts", "x\n".repeat(301)))).toEqual([
      "a.ts: 301 lines; at most 300: split it by concept",
    ]);
    expect(
      nameViolations([...one("src/rl/utils.ts", ""), ...one("src/rl/helpers.ts", ""), ...one("src/rl/trie.ts", "")]),
    ).toHaveLength(2);
  });
});

describe("op completeness", () => {
  const op = {
    path: "src/ops/gelu.ts",
    text: 'const k = kernel("gelu");\nexport const gelu: Op<In, Out, Saved, O> = {};',
  };
  const registry = { path: "src/ops/registry.ts", text: 'import { gelu } from "./gelu.ts";' };
  const tests = one("test/ops/gelu.test.ts", "");
  const shaders = ["shaders/gelu.wgsl"];

  it("accepts a complete op and files without kernels", () => {
    const contract = { path: "src/ops/op.ts", text: "export interface Op {}" };
    expect(opViolations([op, registry, contract], shaders, tests)).toEqual([]);
  });

  it("finds what is missing", () => {
    expect(opViolations([op], [], [])).toEqual([
      "src/ops/gelu.ts: is not in src/ops/registry.ts",
      "src/ops/gelu.ts: there is no shaders/gelu.wgsl",
      "src/ops/gelu.ts: there is no test/ops/gelu.test.ts",
    ]);
  });

  it("does not take another test's use for an op's own test", () => {
    const other = one("test/ops/silu.test.ts", 'import { gelu } from "../../src/ops/gelu.ts";');
    expect(opViolations([op, registry], shaders, other)).toEqual([
      "src/ops/gelu.ts: there is no test/ops/gelu.test.ts",
    ]);
  });

  it("accepts a shader that the op's own folder generates", () => {
    const generator = { path: "src/ops/gelu/text.ts", text: "export const text = 1;" };
    expect(opViolations([op, registry, generator], [], tests)).toEqual([]);
  });

  it("takes the folder's name as the family's", () => {
    const inFolder = { path: "src/ops/gelu/backward.ts", text: op.text };
    const list = { path: "src/ops/registry.ts", text: 'import { gelu } from "./gelu/backward.ts";' };
    expect(opViolations([inFolder, list], shaders, tests)).toEqual([]);
    expect(opViolations([inFolder, list], [], [])).toEqual([
      "src/ops/gelu/backward.ts: there is no shaders/gelu_backward.wgsl",
      "src/ops/gelu/backward.ts: there is no test/ops/gelu_backward.test.ts",
    ]);
  });

  it("accepts for a kernel file its own test, its family's, or one that uses it", () => {
    const kernelFile = { path: "src/ops/matmul_tiled.ts", text: 'const k = kernel("matmul");' };
    const missing = ["src/ops/matmul_tiled.ts: there is no test/ops/matmul_tiled.test.ts"];
    expect(opViolations([kernelFile], [], one("test/ops/matmul_tiled.test.ts", ""))).toEqual([]);
    expect(opViolations([kernelFile], [], one("test/ops/matmul.test.ts", ""))).toEqual([]);
    expect(opViolations([kernelFile], [], one("test/ops/mat.test.ts", ""))).toEqual(missing);
    const user = 'import { tiled } from "../../src/ops/matmul_tiled.ts";';
    expect(opViolations([kernelFile], [], one("test/ops/linear.test.ts", user))).toEqual([]);
    const usingOp = { ...op, text: `import "./matmul_tiled.ts";\n${op.text}` };
    expect(opViolations([kernelFile, usingOp, registry], shaders, tests)).toEqual([]);
  });
});
