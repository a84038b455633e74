import { describe, expect, it } from "vitest";
import { createApp, type GatewayApp } from "../../gateway/app.ts";
import { newRoomCode, Room, shownName } from "../../gateway/room/room.ts";
import { type RoomView, roomLimits } from "../../src/schema/room.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { stillClock } from "../runtime/still_clock.ts";

const entropy = { bytes: (n: number) => crypto.getRandomValues(new Uint8Array(n)) };

function openRoom(): { app: GatewayApp; time: { ms: number } } {
  const time = { ms: 0 };
  const room = new Room("ABC234", { monotonic: () => time.ms }, entropy);
  const app = createApp({
    store: new MemoryStore(),
    model: null,
    clock: stillClock,
    entropy,
    config: { key: "k" },
    room,
  });
  return { app, time };
}

/** Asks as somebody at an address. */
function post(app: GatewayApp, path: string, body: unknown, address = "192.168.0.2", key?: string) {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const init = { method: "POST", body: JSON.stringify(body), headers };
  return app.fetch(new Request(`http://room/room/api/${path}`, init), { address });
}

async function join(app: GatewayApp, name: string, address?: string): Promise<string> {
  const response = await post(app, "join", { code: "abc234", name }, address);
  expect(response.status).toBe(200);
  return ((await response.json()) as { token: string }).token;
}

async function view(app: GatewayApp): Promise<RoomView> {
  const response = await app.request("/room/api/view", { headers: { authorization: "Bearer k" } });
  expect(response.status).toBe(200);
  return (await response.json()) as RoomView;
}

const report = { lesson: "01-policy", run: "run", update: 1, updates: 12, reward: 0.5, done: 0, exercises: 4 };

describe("a room", () => {
  it("shows its members' progress to whoever has the admin's key, and to nobody else", async () => {
    const { app, time } = openRoom();
    const token = await join(app, "Mina");
    expect((await post(app, "report", { token, ...report })).status).toBe(204);
    time.ms = 5_400;
    expect(await view(app)).toEqual({
      code: "ABC234",
      full: false,
      members: [
        { id: expect.stringMatching(/^[0-9a-f]{16}$/), name: "Mina", silentSeconds: 5, report, rewards: [0.5] },
      ],
    });
    expect((await app.request("/room/api/view")).status).toBe(401);
    expect((await app.request("/room/api/view", { headers: { authorization: `Bearer ${token}` } })).status).toBe(401);
  });

  it("keeps the rewards of one run, and begins anew with another", async () => {
    const { app } = openRoom();
    const token = await join(app, "Jun");
    for (const [update, reward] of [
      [1, 0.5],
      [1, 0.5],
      [2, 0.75],
      [2, null],
    ] as const) {
      await post(app, "report", { token, ...report, update, reward });
    }
    expect((await view(app)).members[0]?.rewards).toEqual([0.5, 0.75]);
    await post(app, "report", { token, ...report, run: "other", update: 0, reward: null });
    expect((await view(app)).members[0]?.rewards).toEqual([]);
    for (let update = 1; update <= roomLimits.rewards + 5; update++) {
      await post(app, "report", { token, ...report, run: "other", update, reward: update });
    }
    const { rewards } = (await view(app)).members[0] as RoomView["members"][number];
    expect([rewards.length, rewards[0], rewards.at(-1)]).toEqual([roomLimits.rewards, 6, roomLimits.rewards + 5]);
  });

  it("takes no wrong code, and stops looking at those of an address after too many; others get in", async () => {
    const { app, time } = openRoom();
    for (let i = 0; i < roomLimits.wrongCodesPerMinute; i++) {
      expect((await post(app, "join", { code: "ABC235", name: "x" }, `fe80::1:${i}%eth0`)).status).toBe(403);
    }
    const refused = await post(app, "join", { code: "ABC234", name: "x" }, "fe80::2");
    expect([refused.status, refused.headers.get("retry-after"), await refused.json()]).toEqual([
      429,
      "60",
      { detail: "Too many wrong codes; try again in a minute" },
    ]);
    await join(app, "y", "192.168.0.3");
    time.ms = 60_001;
    await join(app, "x", "fe80::2");
  });

  it("looks at no codes but those of its members' addresses when many addresses guess", async () => {
    const { app } = openRoom();
    const token = await join(app, "in", "192.168.0.3");
    for (let i = 0; i < roomLimits.allWrongCodesPerMinute; i++) {
      expect((await post(app, "join", { code: "ABC235", name: "x" }, `10.0.${i >> 8}.${i & 255}`)).status).toBe(403);
    }
    expect((await post(app, "join", { code: "ABC234", name: "x" }, "192.168.0.4")).status).toBe(429);
    await join(app, "in again", "192.168.0.3");
    expect((await post(app, "report", { token, ...report }, "192.168.0.3")).status).toBe(204);
  });

  it("lets the teacher, and nobody else, put a member out", async () => {
    const { app } = openRoom();
    const token = await join(app, "a");
    await join(app, "b");
    const [{ id }] = (await view(app)).members as [RoomView["members"][number]];
    expect((await post(app, "remove", { id })).status).toBe(401);
    expect((await post(app, "remove", { id }, undefined, token)).status).toBe(401);
    expect((await post(app, "remove", { id }, undefined, "k")).status).toBe(204);
    expect((await view(app)).members.map(({ name }) => name)).toEqual(["b"]);
    expect((await post(app, "report", { token, ...report })).status).toBe(401);
    const again = await post(app, "remove", { id }, undefined, "k");
    expect([again.status, await again.json()]).toEqual([404, { detail: "There is nobody with this id in the room" }]);
  });

  it("is bounded: members, names, bodies, numbers", async () => {
    const { app } = openRoom();
    for (let i = 0; i < roomLimits.members; i++) await join(app, `m${i}`);
    expect((await post(app, "join", { code: "ABC234", name: "late" })).status).toBe(409);
    expect((await view(app)).full).toBe(true);
    expect((await post(app, "join", { code: "ABC234", name: "x".repeat(5000) })).status).toBe(413);
    for (const wrong of [{ update: -1 }, { reward: "much" }, { lesson: "x".repeat(65) }, { text: "of a run" }]) {
      expect((await post(app, "report", { token: "t", ...report, ...wrong })).status).toBe(422);
    }
    expect((await post(app, "report", { token: "unknown", ...report })).status).toBe(401);
  });

  it("forgets who leaves, and who is silent for hours", async () => {
    const { app, time } = openRoom();
    const token = await join(app, "a");
    await join(app, "b");
    await post(app, "leave", { token });
    expect((await view(app)).members.map(({ name }) => name)).toEqual(["b"]);
    time.ms = roomLimits.silentSeconds * 1000 + 1;
    expect((await view(app)).members).toEqual([]);
  });

  it("is not there where none was opened", async () => {
    const app = createApp({ store: new MemoryStore(), model: null, clock: stillClock, entropy, config: { key: "k" } });
    expect((await post(app, "join", { code: "ABC234", name: "x" })).status).toBe(404);
  });
});

describe("names and codes", () => {
  it.each([
    ["  Mina   Kim ", "Mina Kim"],
    ["<b>x</b>", "<b>x</b>"],
    ["a\u202Eb\u0000c\u2028d", "a b c d"],
    ["민아", "민아"],
    ["\u200b", "?"],
    ["x".repeat(60), "x".repeat(40)],
  ])("%j is shown as %j", (name, shown) => expect(shownName(name)).toBe(shown));

  it("codes have six letters that are not mistaken for others", () => {
    const codes = Array.from({ length: 50 }, () => newRoomCode(entropy));
    for (const code of codes) expect(code).toMatch(/^[A-HJKMNP-Z2-9]{6}$/);
    expect(new Set(codes).size).toBe(50);
  });
});
