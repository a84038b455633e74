// The worker of a tab's programs as tests load it: the test runner puts a call of its own around import(), in workers too.
import "../../src/app/tab/agent_worker.ts";

const wrapDynamicImport = (load: (specifier: string) => Promise<unknown>, specifier: string) => load(specifier);
Object.assign(globalThis, { __vitest_browser_runner__: { wrapDynamicImport } });
