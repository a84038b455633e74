// SQLite compiled to WebAssembly over the origin's private file system: the suite of all stores, and what only a
// database has: it is there after its worker has gone, goes in and out as a file, and says what is wrong with one.

import { afterAll, describe, expect, it } from "vitest";
import { platform } from "#platform";
import { CancelledError, LeydenError } from "../../src/core/errors.ts";
import type { WorkerHandle } from "../../src/schema/platform.ts";
import type { Store } from "../../src/schema/store.ts";
import { storeConformance } from "../store/conformance/suite.ts";
import { rollout } from "../store/samples.ts";
import type { StoreAsk } from "./store_worker.ts";

/** A worker with stores of its own. */
class StoreWorker {
  private readonly worker: WorkerHandle = platform.spawnWorker(new URL("./store_worker.ts", import.meta.url));
  private readonly waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  private asked = 0;

  constructor() {
    this.worker.onMessage((message) => {
      const { id, value, error } = message as { id: number; value?: unknown; error?: LeydenError };
      if (error === undefined) this.waiting.get(id)?.resolve(value);
      else this.waiting.get(id)?.reject(new LeydenError(error.code, error.message, { do: error.do }));
      this.waiting.delete(id);
    });
  }

  ask(store: string, method: string, ...args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.asked;
      this.waiting.set(id, { resolve, reject });
      this.worker.post({ id, store, method, args } satisfies StoreAsk);
    });
  }

  async open(path: string): Promise<Store> {
    await this.ask(path, "open");
    const stopped = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        const stop = () => reject(new CancelledError("The wait"));
        if (signal.aborted) stop();
        else signal.addEventListener("abort", stop);
      });
    return new Proxy({} as Store, {
      get: (_, method) => {
        if (method === "then") return undefined;
        return (...args: unknown[]) => {
          const signal = args.find((arg) => arg instanceof AbortSignal);
          const plain = args.filter((arg) => !(arg instanceof AbortSignal));
          const answer = this.ask(path, String(method), ...plain);
          if (signal === undefined) return answer;
          answer.catch(() => {});
          return Promise.race([answer, stopped(signal)]);
        };
      },
    });
  }

  end(): Promise<void> {
    return this.worker.terminate();
  }
}

let worker = new StoreWorker();
let made = 0;
const fresh = (): string => `/stores/${Date.now()}_${++made}.sqlite`;
afterAll(() => worker.end());

storeConformance("sqlite in the origin's files", async () => worker.open(fresh()));

describe("sqlite in a browser", () => {
  const created = (id: string) => ({ type: "rollout_created" as const, rollout: rollout(id) });

  it("keeps what was acknowledged when its worker is ended", async () => {
    const path = fresh();
    const store = await worker.open(path);
    expect(await worker.ask("", "isDurable")).toBe(true);
    await store.append([created("a"), created("b")]);
    await worker.end();
    worker = new StoreWorker();
    const again = await worker.open(path);
    expect((await again.rollouts()).map(({ rollout_id }) => rollout_id)).toEqual(["a", "b"]);
    expect(await again.append([created("c")])).toBe(3);
  });

  it("gives an open database with all that was acknowledged, and one that its worker left open", async () => {
    const path = fresh();
    const store = await worker.open(path);
    await store.append([created("a"), created("b")]);
    const count = "SELECT count(*) AS n FROM rollouts";
    const counted = async () => {
      const bytes = await worker.ask("", "exportFile", path);
      await worker.ask("", "importFile", "/copy.sqlite", bytes);
      return worker.ask("/copy.sqlite", "query", count);
    };
    expect(await counted()).toEqual([{ n: 2 }]);
    await worker.end();
    worker = new StoreWorker();
    expect(await counted()).toEqual([{ n: 2 }]);
  });

  it("takes a database as a file and gives it back, Node's with its write-ahead log too", async () => {
    const store = await worker.open("/out.sqlite");
    await store.append([created(`x${Date.now()}`)]);
    await store.close();
    const bytes = (await worker.ask("", "exportFile", "/out.sqlite")) as Uint8Array;
    bytes.fill(2, 18, 20);
    await worker.ask("", "importFile", "/in.sqlite", bytes);
    const count = "SELECT count(*) AS n FROM rollouts";
    expect(await worker.ask("/in.sqlite", "query", count)).toEqual(await worker.ask("/out.sqlite", "query", count));
    expect(await worker.ask("", "sizeBytes", "/in.sqlite")).toBe(bytes.length);
    await worker.ask("", "remove", "/in.sqlite");
    expect(await worker.ask("", "exists", "/in.sqlite")).toBe(false);
    await expect(worker.ask("", "exportFile", "/in.sqlite")).rejects.toMatchObject({ code: "file_missing" });
    const text = new TextEncoder().encode("this is a text and no database at all");
    await expect(worker.ask("", "importFile", "/in.sqlite", text)).rejects.toMatchObject({
      code: "store_file",
      message: "What was given as /in.sqlite is no SQLite database.",
    });
  });

  it("says what failed, and never rounds a large integer", async () => {
    await expect(worker.ask(":memory:", "query", "SELECT * FROM missing")).rejects.toThrow("no such table: missing");
    await expect(worker.ask(":memory:", "query", "SELECT 1152921504606846976 AS v")).rejects.toThrow("too large");
    const values = await worker.ask(":memory:", "query", "SELECT NULL a, -1.5 b, 'grün' c, x'00ff' d, 1099511627776 e");
    expect(values).toEqual([{ a: null, b: -1.5, c: "grün", d: Uint8Array.of(0, 255), e: 2 ** 40 }]);
  });
});
