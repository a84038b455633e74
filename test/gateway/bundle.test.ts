/** The gateway needs nothing but Web Standards: bundled without a builtin, it answers where there is nothing else. */
import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { expect, it } from "vitest";

/** What a bare Worker offers: no timers, no Buffer, no process, no module loader. */
const webGlobals = [
  "AbortController",
  "AbortSignal",
  "Headers",
  "ReadableStream",
  "Request",
  "Response",
  "TextDecoder",
  "TextEncoder",
  "TransformStream",
  "URL",
  "URLSearchParams",
  "atob",
  "btoa",
  "crypto",
  "structuredClone",
] as const;

const source = `
  import { createApp, MemoryStore } from "./index.ts";
  globalThis.start = (clock, entropy) =>
    createApp({ store: new MemoryStore(), model: null, clock, entropy, config: { key: "k", modelName: "m" } });
`;

it("bundles without builtins and answers in a bare Worker", async () => {
  const resolveDir = fileURLToPath(new URL("../../gateway", import.meta.url));
  const result = await build({
    stdin: { contents: source, resolveDir, loader: "ts" },
    bundle: true,
    write: false,
    metafile: true,
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["import", "browser"],
    format: "iife",
    logLevel: "silent",
  });
  expect(result.warnings).toEqual([]);
  const inputs = Object.keys(result.metafile.inputs);
  expect(inputs.length).toBeGreaterThan(30);
  expect(inputs.filter((path) => /node-server|src\/platform/.test(path))).toEqual([]);
  const code = result.outputFiles[0]?.text ?? "";
  expect(code).not.toMatch(/["']node:/);

  const bare = createContext(Object.fromEntries(webGlobals.map((name) => [name, globalThis[name]])));
  runInContext(code, bare);
  const clock = { now: () => 5000, monotonic: () => 0, sleep: () => new Promise<void>(() => {}) };
  const entropy = { bytes: (n: number) => new Uint8Array(n).fill(7) };
  const { start } = bare as {
    start(...parts: unknown[]): { request(path: string, init?: RequestInit): Promise<Response> };
  };
  const app = start(clock, entropy);
  const send = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: "Bearer k" };
    return await app.request(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  };
  expect(await (await app.request("/healthz")).json()).toEqual({ status: "ok" });
  expect((await app.request("/proxy/state")).status).toBe(401);
  const created = (await (await send("POST", "/api/rollouts", [{ input: 1 }])).json()) as { rollout_id: string }[];
  expect(created).toMatchObject([{ rollout_id: "07".repeat(16), status: { created_at: 5 } }]);
  const { key } = (await (await send("POST", `/api/rollouts/${"07".repeat(16)}/attempt/0/key`)).json()) as {
    key: string;
  };
  expect(key).toMatch(/^lrk-/);
  const call = await app.request("/v1/chat/completions", {
    method: "POST",
    headers: { "x-api-key": key },
    body: JSON.stringify({ messages: [{ role: "user", content: "x" }] }),
  });
  expect([call.status, await call.json()]).toMatchObject([503, { error: { code: "no_model" } }]);
});
