/**
 * Agent Lightning's wire protocol against `leyden serve --gateway-only`: its own endpoint tests, then every behaviour
 * that was seen upstream. All parts share their servers, because starting one takes longer than most tests.
 */
import { afterAll, beforeAll } from "vitest";
import { accessSuite } from "./protocol/access.ts";
import { inventorySuite } from "./protocol/inventory.ts";
import { pauseSuite } from "./protocol/pause.ts";
import { proxySuite } from "./protocol/proxy.ts";
import { storeSuite } from "./protocol/store.ts";
import { openWorld, type World } from "./protocol/world.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

inventorySuite(() => world);
accessSuite(() => world);
storeSuite(() => world);
proxySuite(() => world);
pauseSuite(() => world);
