/**
 * Agent Lightning's wire protocol against `leyden serve --gateway-only`: its own endpoint tests, then every behaviour
 * that was seen upstream. All parts share their servers, because starting one takes longer than most tests.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessSuite } from "./protocol/access.ts";
import { inventorySuite } from "./protocol/inventory.ts";
import { pauseSuite } from "./protocol/pause.ts";
import { proxySuite } from "./protocol/proxy.ts";
import { storeSuite } from "./protocol/store.ts";
import { StubUpstream } from "./protocol/stub_upstream.ts";
import { openWorld, type World } from "./protocol/world.ts";
import { Client, read } from "./served_process.ts";

let world: World;
/** A call to an endpoint that refuses connections: its tries take some 15 s, in which the other tests run. */
let refused: Promise<{ seconds: number; reply: { status: number; body: unknown } }>;
let refusing: Client;

const inflight = async (client: Client) =>
  ((await read(client.get("/proxy/state"))).body as { inflight: number }).inflight;

async function callNobody(client: Client): Promise<Awaited<typeof refused>> {
  const nobody = new StubUpstream();
  await nobody.start();
  const { endpoint } = nobody;
  await nobody.stop();
  await client.create("refused");
  await client.post("/api/models", [{ model: "test-model", endpoint }]);
  const started = performance.now();
  const call = read(client.post(client.proxy("refused"), {}));
  await expect.poll(() => inflight(client)).toBe(1);
  const reply = await call;
  return { seconds: (performance.now() - started) / 1000, reply };
}

beforeAll(async () => {
  world = await openWorld();
  refusing = new Client({ url: world.open.url, key: "any" });
  refused = callNobody(refusing);
  refused.catch(() => {});
});
afterAll(() => world.close());

inventorySuite(() => world);
accessSuite(() => world);
storeSuite(() => world);
proxySuite(() => world);
pauseSuite(() => world);

describe("an endpoint that refuses connections", () => {
  it("is tried six times over some 15 s, then 502 without an event", { timeout: 40_000 }, async () => {
    const { seconds, reply } = await refused;
    expect(reply).toEqual({ status: 502, body: { detail: "Upstream model server request failed" } });
    // Waits of 0.5, 1, 2, 4 and 8 s, each a quarter shorter or longer.
    expect(seconds).toBeGreaterThan(15.5 * 0.75);
    expect(seconds).toBeLessThan(15.5 * 1.25 + 3);
    expect(await refusing.events("refused")).toEqual([]);
    expect(await inflight(refusing)).toBe(0);
    expect((await read(refusing.get("/api/rollouts/refused/calls"))).body).toMatchObject({
      failures: [{ http_status: 502, retry_count: 5, message: "Upstream model server request failed" }],
    });
  });
});
