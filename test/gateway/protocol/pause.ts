/** Agent Lightning's pause and resume over HTTP, and clients that go away. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Client, read } from "../served_process.ts";
import { completion, type StubUpstream } from "./stub_upstream.ts";
import type { World } from "./world.ts";

export function pauseSuite(world: () => World): void {
  let client: Client;
  let upstream: StubUpstream;
  beforeAll(() => {
    ({ client, upstream } = world());
  });
  beforeEach(async () => {
    upstream.calls.length = 0;
    upstream.reply = () => ({ json: completion([1, 2], [3]) });
    await client.delete("/api/models");
    await client.post("/api/models", [{ model: "test-model", endpoint: upstream.endpoint }]);
  });

  const inflight = async () => ((await read(client.get("/proxy/state"))).body as { inflight: number }).inflight;

  describe("pause", () => {
    const state = { paused: true, retry_after_seconds: 5, reason: null, inflight: 0 };

    it("needs a body, has defaults, may be repeated, and resuming keeps the retry time", async () => {
      expect((await client.send("POST", "/proxy/pause")).status).toBe(422);
      expect((await read(client.post("/proxy/pause", {}))).body).toEqual(state);
      const again = { retry_after_seconds: 7, reason: "again" };
      expect((await read(client.post("/proxy/pause", again))).body).toEqual({ ...state, ...again });
      const resumed = { paused: false, retry_after_seconds: 7, reason: null, inflight: 0 };
      for (let n = 0; n < 2; n++) expect((await read(client.send("POST", "/proxy/resume"))).body).toEqual(resumed);
      expect((await read(client.post("/proxy/pause", {}))).body).toEqual(state);
      expect((await client.post("/proxy/pause", { retry_after_seconds: "soon" })).status).toBe(422);
      await client.post("/proxy/resume");
    });

    it("answers new calls 429 with headers, lets admitted ones end, and leaves the store alone", async () => {
      await client.create("z1");
      const gate = Promise.withResolvers<void>();
      upstream.reply = async () => {
        await gate.promise;
        return { json: completion([1], [2]) };
      };
      const admitted = client.post(client.proxy("z1"), {});
      await expect.poll(() => upstream.calls.length).toBe(1);
      const paused = await read(client.post("/proxy/pause", { retry_after_seconds: 9, reason: "r" }));
      expect(paused.body).toMatchObject({ inflight: 1 });
      const refused = await client.post(client.proxy("z1"), {});
      expect([refused.headers.get("retry-after"), refused.headers.get("x-agl-paused")]).toEqual(["9", "true"]);
      expect(await read(refused)).toEqual({ status: 429, body: { error: "gateway paused", reason: "r" } });
      expect((await client.post("/api/rollouts/z1/attempt/0/events", { event_type: "note" })).status).toBe(200);
      gate.resolve();
      expect((await admitted).status).toBe(200);
      expect(await inflight()).toBe(0);
      await client.post("/proxy/resume");
      expect((await client.post(client.proxy("z1"), {})).status).toBe(200);
    });
  });

  describe("a client that goes away", () => {
    it("ends its upstream call, which is no event and no longer under way", async () => {
      await client.create("d1");
      upstream.reply = () => ({ respond: () => {} });
      const stop = new AbortController();
      const url = client.url + client.proxy("d1");
      const headers = { authorization: `Bearer ${client.key}` };
      const call = fetch(url, { method: "POST", headers, body: "{}", signal: stop.signal }).catch(
        (error: Error) => error.name,
      );
      await expect.poll(() => upstream.calls.length).toBe(1);
      stop.abort();
      expect(await call).toBe("AbortError");
      await upstream.calls[0]?.closed;
      await expect.poll(inflight).toBe(0);
      expect(await client.events("d1")).toEqual([]);
      expect((await read(client.get("/api/rollouts/d1/calls"))).body).toMatchObject({
        failures: [{ code: "abandoned" }],
      });
    });
  });
}
