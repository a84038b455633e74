// What is made for the eye, without a browser: texts of tokens, the drawn tree, a report's file, answers of a report.
import { describe, expect, it } from "vitest";
import { filtersOf, queryOfFilters } from "../../gateway/studio/client/filters.tsx";
import { durationText, numberText } from "../../gateway/studio/client/format.ts";
import { httpApi } from "../../gateway/studio/client/http_api.ts";
import { hrefTo, routeOf } from "../../gateway/studio/client/router.ts";
import { configDifferences } from "../../gateway/studio/client/run_file.ts";
import { snapshotApi } from "../../gateway/studio/client/snapshot_api.ts";
import { scaleOf } from "../../gateway/studio/client/token_colors.ts";
import { drawTree } from "../../gateway/studio/client/tree_layout.ts";
import { reportHtml } from "../../gateway/studio/report.ts";
import { finite, tokenTexts } from "../../gateway/studio/token_text.ts";
import type { StudioSnapshot, StudioTree } from "../../src/schema/studio_api.ts";
import { configOf, finished, StudioWorld } from "./studio_world.ts";

describe("texts of tokens", () => {
  it("give a character to the last of the tokens that share it, and lose no byte", () => {
    const bytes = [...new TextEncoder().encode("é😀")].map((byte) => Uint8Array.of(byte));
    const texts = tokenTexts([0, 1, 2, 3, 4, 5], (id) => bytes[id] ?? new Uint8Array(0));
    expect(texts).toEqual(["", "é", "", "", "", "😀"]);
    expect(tokenTexts([2], (id) => bytes[id] ?? new Uint8Array(0))).toEqual(["\ufffd"]);
    expect(tokenTexts([1, 2], null)).toEqual(["", ""]);
    expect([finite(Number.NEGATIVE_INFINITY), finite(-1)]).toEqual([-Number.MAX_VALUE, -1]);
  });
});

describe("numbers", () => {
  it("have as many digits as say something", () => {
    const texts = [0, 3e-17, -0.25, 12.345678, 1234.567, -3e-5, 1e6, null, Number.NaN].map((value) =>
      numberText(value, "en"),
    );
    expect(texts).toEqual(["0", "0", "−0.25", "12.3457", "1,234.6", "−3.0e−5", "1,000,000", "–", "–"]);
    expect(numberText(-Number.MAX_VALUE, "en")).toBe("−∞");
    expect([0.4567, 12.3, 75, 3725].map((seconds) => durationText(seconds, "en"))).toEqual([
      "0.46 s",
      "12 s",
      "1:15",
      "1:02:05",
    ]);
  });
});

describe("scales", () => {
  it("tell apart what they are for", () => {
    const logprob = scaleOf("logprob", [-1]);
    expect([0, -0.5, -1, -5.9, -100].map((value) => logprob?.classOf(value))).toEqual([
      ...["st-seq-0", "st-seq-0", "st-seq-1", "st-seq-5", "st-seq-5"],
    ]);
    const advantage = scaleOf("advantage", [-2, 1]);
    expect([-2, 0, 1].map((value) => advantage?.classOf(value))).toEqual(["st-down-5", "st-zero", "st-up-3"]);
    expect(scaleOf("version", [7, 9, 7])?.legend).toEqual([
      ["st-cat-0", 7],
      ["st-cat-1", 9],
    ]);
    expect([scaleOf("none", [1]), scaleOf("entropy", [])]).toEqual([null, null]);
  });
});

describe("the drawn tree", () => {
  it("goes straight on to the deepest leaf, branches below, and never over itself", () => {
    const tree: StudioTree = {
      nodes: [
        { id: 0, parent: null, start: 0, length: 100 },
        { id: 1, parent: 0, start: 100, length: 4 },
        { id: 2, parent: 0, start: 100, length: 50 },
        { id: 3, parent: 2, start: 150, length: 9 },
        { id: 4, parent: 2, start: 150, length: 4 },
      ],
      calls: [{ call: "k", end: 3, node: 2, offset: 25, length: 34 }],
    };
    const { nodes, replies, width, height } = drawTree(tree);
    const at = new Map(nodes.map((node) => [node.id, node]));
    expect(at.get(2)?.y).toBe(at.get(0)?.y);
    expect(at.get(3)?.y).toBe(at.get(0)?.y);
    expect(at.get(1)?.y).toBeGreaterThan(at.get(0)?.y ?? 0);
    expect(replies.map(({ call }) => call)).toEqual(["k", "k"]);
    expect(replies[0]?.width).toBeCloseTo((at.get(2)?.width ?? 0) / 2, 6);
    for (const a of nodes) {
      expect(a.x + a.width).toBeLessThanOrEqual(width);
      expect(a.y).toBeLessThan(height);
      for (const b of nodes) {
        if (a.id < b.id && a.y === b.y) expect(a.x + a.width <= b.x || b.x + b.width <= a.x).toBe(true);
      }
    }
  });

  it("takes a chain of thousands of calls", () => {
    const nodes = Array.from({ length: 5000 }, (_, id) => ({
      id,
      parent: id === 0 ? null : id - 1,
      start: id * 9,
      length: 9,
    }));
    expect(drawTree({ nodes, calls: [] }).nodes).toHaveLength(5000);
  });
});

describe("addresses", () => {
  it("name places with any id in them, and filters that change something", () => {
    const id = "a/b?c#d é";
    expect(routeOf(hrefTo(["rollouts", id, "k/1"]))).toMatchObject({ view: "rollout", id, call: "k/1" });
    expect(["", "#", "#/", "#/nonsense", "#/groups"].map((hash) => routeOf(hash).view)).toEqual(
      Array(5).fill("overview"),
    );
    expect(routeOf("#/rollouts/%E0%A4%A").id).toBe("%E0%A4%A");
    const filters = filtersOf(new URLSearchParams("state=failed&sort=evil&order=asc&other=1&constructor=2"));
    expect(filters).toMatchObject({ state: "failed", sort: "created", order: "asc" });
    expect(filters).not.toHaveProperty("other");
    expect(queryOfFilters(filters).toString()).toBe("state=failed&order=asc");
  });

  it("tell settings of two runs apart", () => {
    expect(configDifferences(configOf(), configOf({ groupSize: 3 }))).toEqual([["train.groupSize", "2", "3"]]);
  });
});

async function snapshotOf(world: StudioWorld): Promise<StudioSnapshot> {
  return (await world.get("snapshot?rollouts=2")).body as StudioSnapshot;
}

describe("a report", () => {
  async function recorded(): Promise<StudioWorld> {
    const world = new StudioWorld();
    await world.store.append([
      ...finished("g0-s0", "g0", 1, "yes"),
      ...finished("g0-s1", "g0", 0, "</script><!--<script>"),
      ...finished("g1-s0", "g1", null),
      { type: "experiment", name: "update", data: { update: 3, groups: ["g0"] }, at: 5 },
    ]);
    return world;
  }

  it("answers as the gateway does, for what it holds", async () => {
    const world = await recorded();
    const snapshot = await snapshotOf(world);
    const asked = httpApi((path, init) =>
      Promise.resolve(
        world.app.request(`http://gateway${path}`, { ...init, headers: { authorization: "Bearer admin" } }),
      ),
    );
    const held = snapshotApi(snapshot);
    expect(Object.keys(snapshot.details).sort()).toEqual(["g0-s0", "g0-s1"]);
    for (const query of [
      "",
      "state=succeeded&sort=reward",
      "update=3",
      "text=S1",
      "reward_min=0.5",
      "group=g1",
      "breaks=true",
      "sort=group&order=asc",
    ]) {
      const filters = filtersOf(new URLSearchParams(query));
      expect(await held.rollouts(filters, 0, 10), query).toEqual(await asked.rollouts(filters, 0, 10));
    }
    const call = await asked.call("g0-s1", "g0-s1-c", false);
    expect(await held.call("g0-s1", "g0-s1-c", false)).toEqual(call);
    expect(await held.group("g0")).toEqual(await asked.group("g0"));
    await expect(held.rollout("g1-s0")).rejects.toThrow("not in this report: g1-s0");
    await expect(held.rollout("constructor")).rejects.toMatchObject({ status: 404 });
    await expect(held.fork("g0-s0", "g0-s0-c", {})).rejects.toMatchObject({ status: 409 });
    expect((await held.run()).can).toEqual({ control: false, start: false, fork: false, report: false });
    await expect(asked.rollout("none")).rejects.toThrow("Rollout not found: none");
  });

  it("is one file that no text breaks out of, and that loads nothing", async () => {
    const snapshot = await snapshotOf(await recorded());
    const script = 'const a = "</script><script>"; const b = "<!--";';
    const html = reportHtml(
      { ...snapshot, run: { ...snapshot.run, name: "<x>&\"'" } },
      { script, style: "a{}</style>" },
    );
    expect(html.match(/<\/script/gi)).toHaveLength(2);
    expect(html.match(/<script/gi)).toHaveLength(2);
    expect(html.match(/<\/style/gi)).toHaveLength(1);
    expect(html).not.toContain("<!--");
    expect(html).toContain("<title>&lt;x>&amp;&quot;' – Leyden</title>");
    expect(html).not.toMatch(/(src|href)=/);
    expect(html).toContain("default-src 'none'");
    const data = /id="snapshot">(.*?)<\/script>/s.exec(html)?.[1] ?? "";
    expect((JSON.parse(data) as StudioSnapshot).details["g0-s1"]).toEqual(snapshot.details["g0-s1"]);
  });

  it("is sent where a page is served, under a name that is one", async () => {
    const text = (value: string) => ({ bytes: new TextEncoder().encode(value), type: "text/plain", etag: '"x"' });
    const page = { get: async (path: string) => (path.startsWith("report.") ? text(`/* ${path} */`) : null) };
    const world = new StudioWorld({ page });
    const response = await world.app.request("http://gateway/studio/api/report", {
      headers: { authorization: "Bearer admin" },
    });
    expect(response.headers.get("content-disposition")).toBe('attachment; filename="mine.html"');
    expect(await response.text()).toContain("/* report.js */");
    expect((await world.get("run")).body).toMatchObject({ can: { report: true } });
    expect((await (await recorded()).get("report")).status).toBe(409);
  });
});
