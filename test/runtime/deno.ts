import { after, before, describe, it as nodeIt, type TestContext } from "node:test";

export { expect } from "./expect.ts";
export { after as afterAll, before as beforeAll, describe };

/** What a test gets: `skip` ends it and its reason is printed. */
interface DeviceTestContext {
  skip(reason: string): never;
}

class Skipped extends Error {}

function run(body: (context: DeviceTestContext) => unknown) {
  return async (context: TestContext): Promise<void> => {
    const skip = (reason: string): never => {
      throw new Skipped(reason);
    };
    try {
      await body({ skip });
    } catch (thrown) {
      if (!(thrown instanceof Skipped)) throw thrown;
      console.log(`skipped: ${thrown.message}`);
      context.skip(thrown.message);
    }
  };
}

/** vitest's `it(name, body, timeoutMs)` over node:test. */
export const it = (name: string, body: (context: DeviceTestContext) => unknown, timeout = 120_000): void => {
  nodeIt(name, { timeout }, run(body));
};
