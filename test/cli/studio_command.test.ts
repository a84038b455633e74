import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../src/app/open_store.ts";
import { platform } from "../../src/platform/node.ts";
import { newRollout } from "../../src/schema/rollout.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = join(root, "src/cli/main.ts");
const work = mkdtempSync(join(tmpdir(), "leyden-studio-"));
const run = join(work, "mine");
const hostile = "</script><script>alert(1)</script>";

/** A run's folder with one rollout and two updates. */
async function record(folder: string): Promise<void> {
  await platform.files.makeFolder(folder);
  const store = await openStore(platform, join(folder, "store.sqlite"));
  await store.append([{ type: "rollout_created", rollout: newRollout({ input: { task: hostile } }, "r1", 1) }]);
  await store.close();
  const config = { model: { path: "m" }, task: { dataset: "./t.ts" }, rollout: { command: ["agent"] } };
  await platform.files.write(join(folder, "config.json"), JSON.stringify(config));
  const lines = [1, 2].map((step) => JSON.stringify({ step, "training/reward": step / 4 }));
  await platform.files.write(join(folder, "metrics.jsonl"), `${lines.join("\n")}\n`);
}

function studio(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, "studio", ...args, "--json"], {
    encoding: "utf8",
  });
  const line = stdout.trim().split("\n").at(-1) ?? "";
  return { status, stderr, told: line === "" ? null : JSON.parse(line) };
}

beforeAll(async () => {
  await record(run);
  await record(join(work, "other"));
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe("leyden studio", () => {
  it("writes a run as one file in which hostile text stays text", () => {
    const file = join(work, "mine.html");
    const { status, told } = studio(run, "--export", file);
    expect({ status, told }).toEqual({ status: 0, told: { file, bytes: expect.any(Number) } });
    const html = readFileSync(file, "utf8");
    expect(html).not.toContain(hostile);
    expect(html).toContain("training/reward");
    expect(html.match(/<script[\s>]/g)).toHaveLength(2);
    expect(html).toMatch(/default-src 'none'/);
  }, 60_000);

  it("serves a run to whoever has its key, and begins where it is told", async () => {
    const child = spawn(process.execPath, [main, "studio", run, "--compare", join(work, "other"), "--json"]);
    const lines = createInterface({ input: child.stdout });
    const told = JSON.parse((await lines[Symbol.asyncIterator]().next()).value as string);
    expect(told.studio).toBe(`${told.url}/studio/#key=${told.key}&at=%2Fcompare%3Frun%3Dother`);
    expect((await fetch(`${told.url}/studio/api/run`)).status).toBe(401);
    const answer = await fetch(`${told.url}/studio/api/run`, { headers: { authorization: `Bearer ${told.key}` } });
    expect(await answer.json()).toMatchObject({ name: "mine", status: null, can: { control: false, fork: false } });
    const page = await fetch(`${told.url}/studio/page.json`);
    expect(await page.json()).toEqual({ kind: "record", needsKey: true, room: false });
    child.kill("SIGTERM");
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
  }, 60_000);

  it("says what is missing", () => {
    expect(studio(join(work, "none"))).toMatchObject({ status: 4, told: { error: { code: "file_missing" } } });
    expect(studio(run, "--compare", join(work, "othr"))).toMatchObject({
      status: 4,
      told: { error: { code: "run_missing", do: 'Did you mean "other"?' } },
    });
    expect(studio(run, "--compare", run, "--export", "x.html")).toMatchObject({
      status: 4,
      told: { error: { message: "--export writes one run; --compare opens two." } },
    });
  });
});
