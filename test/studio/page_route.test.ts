// The page's files: types, caching, the policy they come under, paths that lead nowhere else.
import { expect, it } from "vitest";
import type { PageFiles } from "../../src/schema/page_files.ts";
import { StudioWorld } from "./studio_world.ts";

const asked: string[] = [];
const page: PageFiles = {
  async get(path) {
    asked.push(path);
    if (path !== "index.html" && path !== "assets/a-1.js" && path !== "models/a b/c.json") return null;
    return { bytes: new TextEncoder().encode(path), type: "text/html; charset=utf-8", etag: '"tag"' };
  },
};

const get = (path: string, headers: Record<string, string> = {}, world = new StudioWorld({ page })) =>
  Promise.resolve(world.app.request(`http://gateway${path}`, { headers }));

it("is sent without a key, under a policy that loads nothing from elsewhere and lets nobody frame it", async () => {
  const response = await get("/studio/");
  expect([response.status, await response.text()]).toEqual([200, "index.html"]);
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/https?:|\*/);
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  expect((await get("/studio")).headers.get("location")).toBe("/studio/");
});

it("is kept where its name has a hash, and asked for again elsewhere", async () => {
  expect((await get("/studio/")).headers.get("cache-control")).toBe("no-cache");
  expect((await get("/studio/assets/a-1.js")).headers.get("cache-control")).toContain("immutable");
  const again = await get("/studio/", { "if-none-match": '"tag"' });
  expect([again.status, await again.text()]).toEqual([304, ""]);
  expect(await (await get("/studio/models/a%20b/c.json")).text()).toBe("models/a b/c.json");
});

it("gives out nothing that is not its own", async () => {
  asked.length = 0;
  for (const path of ["..%2fsecret", "a/%2e%2e/b", "%00", "a%5cb", "%E0%A4%A", "none.js"]) {
    expect((await get(`/studio/${path}`)).status, path).toBe(404);
  }
  // Addresses resolve ".." by themselves, however it is written.
  expect(asked).toEqual(["b", "none.js"]);
  expect((await get("/studio/api/none")).status).toBe(404);
  expect((await get("/studio/", {}, new StudioWorld())).status).toBe(404);
});
