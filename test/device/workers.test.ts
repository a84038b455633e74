// Workers on every runtime: messages both ways, transfer, the GPU inside, and a death that is reported.
import { platform } from "#platform";
import { describe, expect, it } from "#test";

const module = new URL("./echo_worker.ts", import.meta.url);

function ask(message: unknown, transfer?: ArrayBuffer[]): Promise<unknown> {
  const worker = platform.spawnWorker(module);
  return new Promise<unknown>((resolve, reject) => {
    worker.onMessage(resolve);
    worker.onError(reject);
    worker.post(message, transfer);
  }).finally(() => worker.terminate());
}

describe("workers", () => {
  it("echo typed arrays and take over their buffers", async () => {
    const data = Float32Array.of(1.5, -2);
    expect(await ask({ kind: "echo", data }, [data.buffer])).toEqual(Float32Array.of(1.5, -2));
    expect(data.length).toBe(0);
  });

  it("find the GPU", async () => {
    expect(await ask({ kind: "gpu" })).toBe(true);
  });

  it("report their death", async () => {
    await expect(ask({ kind: "throw" })).rejects.toThrow("asked to fail");
  });

  it("are not where the tests run", () => {
    expect(() => platform.workerPort()).toThrow("runs in the main thread");
  });
});
