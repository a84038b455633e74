import "../../src/app/grammar_worker.ts";

// Vitest sends every import() of a page's modules through its runner there, which workers have not.
const runner = { wrapDynamicImport: (load: () => Promise<unknown>): Promise<unknown> => load() };
(globalThis as { __vitest_browser_runner__?: unknown }).__vitest_browser_runner__ ??= runner;
