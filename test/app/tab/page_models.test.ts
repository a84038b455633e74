// Models that come with the page: kept where the tab reads them, and loaded again only where the page has another version.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { keepPageModel } from "../../../src/app/tab/page_models.ts";
import { memoryFiles } from "../../../src/platform/memory_files.ts";
import type { PageAssets } from "../../../src/schema/page_assets.ts";

const served = new Map<string, string>();
let asked: string[] = [];
const server = createServer((request, response) => {
  const path = (request.url ?? "").slice(1);
  asked.push(path);
  const body = path === "files.json" ? listed() : served.get(path);
  if (body === undefined) response.writeHead(404).end();
  else response.end(body);
});
let assets: PageAssets;

function listed(): string {
  const facts = [...served].map(([path, body]) => [
    path,
    { sizeBytes: body.length, sha256: createHash("sha256").update(body).digest("hex") },
  ]);
  return JSON.stringify(Object.fromEntries(facts));
}

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  assets = { kind: "folder", base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  served.clear();
  served.set("models/calc/config.json", "{}").set("models/calc/model.safetensors", "one").set("models/other/x", "x");
  asked = [];
});

describe("models that come with the page", () => {
  it("are loaded once, and again only the files that have changed or are gone", async () => {
    const files = memoryFiles();
    const keep = () => keepPageModel(files, assets, "calc", "/m");
    await keep();
    expect(await files.readText("/m/model.safetensors")).toBe("one");
    expect(await files.exists("/m/x")).toBe(false);
    asked = [];
    await keep();
    expect(asked).toEqual(["files.json"]);
    served.set("models/calc/model.safetensors", "two");
    await files.remove("/m/config.json");
    asked = [];
    await keep();
    expect(asked.sort()).toEqual(["files.json", "models/calc/config.json", "models/calc/model.safetensors"]);
    expect(await files.readText("/m/model.safetensors")).toBe("two");
  });

  it("come out of a single file too", async () => {
    const files = memoryFiles();
    const embedded: PageAssets = { kind: "embedded", files: { "models/calc/config.json": new Blob(["{}"]) } };
    await keepPageModel(files, embedded, "calc", "/m");
    expect(await files.readText("/m/config.json")).toBe("{}");
  });

  it("are missed by name, and so is their server", async () => {
    await expect(keepPageModel(memoryFiles(), assets, "none", "/m")).rejects.toMatchObject({
      code: "file_missing",
      message: "The page has no model none.",
    });
    const gone: PageAssets = { kind: "folder", base: "http://127.0.0.1:9/" };
    await expect(keepPageModel(memoryFiles(), gone, "calc", "/m")).rejects.toMatchObject({ code: "page_unreachable" });
  });
});
