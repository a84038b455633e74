import { describe, expect, it } from "vitest";
import { EngineClient, serveEngine } from "../../src/engine/engine_port.ts";
import type { WorkerPort } from "../../src/schema/platform.ts";
import { expected, openEngine, request } from "./counting_engine.ts";

/** Two ports joined back to back, with the cloning a worker boundary does. */
function portPair(): [WorkerPort, WorkerPort] {
  const receivers: ((message: unknown) => void)[] = [];
  const port = (own: number): WorkerPort => ({
    post: (message) => {
      const copy = structuredClone(message);
      queueMicrotask(() => receivers[1 - own]?.(copy));
    },
    onMessage: (receive) => {
      receivers[own] = receive;
    },
  });
  return [port(0), port(1)];
}

describe("EngineClient", () => {
  it("carries results and typed errors across a port", async () => {
    const { engine } = await openEngine();
    const [near, far] = portPair();
    serveEngine(engine, far);
    const client = new EngineClient(near);
    const r = await client.generate(request("a", [1, 2], 4));
    expect(Array.from(r.ids)).toEqual(expected([1, 2], 4));
    await expect(client.generate(request("b", [99], 1))).rejects.toMatchObject({
      code: "token_out_of_range",
      do: "Encode with the tokenizer of this model.",
    });
    expect((await client.info()).vocabSize).toBe(50);
    client.fail(new Error("worker gone"));
    await expect(client.info()).rejects.toThrow("worker gone");
    await engine.close();
  });

  it("refuses calls after it was closed, and closes a second time and after a failure", async () => {
    const { engine } = await openEngine();
    const [near, far] = portPair();
    serveEngine(engine, far);
    const client = new EngineClient(near);
    await client.close();
    await client.close();
    await expect(client.generate(request("a", [1], 1))).rejects.toMatchObject({ code: "engine_closed" });
    const broken = new EngineClient(near);
    broken.fail(new Error("worker gone"));
    await broken.close();
  });
});
