/** kill -9 of a writing process, a hundred times: nothing acknowledged is lost, and the log has no gap. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { nodeSqlite } from "../../src/platform/node_sqlite.ts";
import { openSqlStore } from "../../src/store/sql_store.ts";

const kills = 100;
const folder = mkdtempSync(join(tmpdir(), "leyden-kill-"));
const writer = join(folder, "writer.mjs");

beforeAll(async () => {
  // One file starts twice as fast as thirty.
  const entryPoints = [new URL("./kill_writer.ts", import.meta.url).pathname];
  await build({ entryPoints, outfile: writer, bundle: true, platform: "node", format: "esm", logLevel: "error" });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a writer, kills it `afterMs` after its first acknowledgement, and returns what it had acknowledged. */
async function writeAndKill(path: string, run: number, afterMs: number): Promise<string[]> {
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") };
  const child = spawn(process.execPath, [writer, path, String(run)], { stdio: ["ignore", "pipe", "inherit"], env });
  let out = "";
  const closed = once(child, "close");
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (out === "") setTimeout(() => child.kill("SIGKILL"), afterMs);
    out += text;
  });
  const [, signal] = await closed;
  expect(signal).toBe("SIGKILL");
  return out.split("\n").filter((line) => line !== "");
}

/** Kills writers of one file in turn and checks the file after each. */
async function killInTurn(path: string, runs: number[]): Promise<number> {
  const acknowledged: string[] = [];
  let seq = 0;
  for (const run of runs) {
    // Every place of a transaction's life gets its turn: commits are about a millisecond apart.
    acknowledged.push(...(await writeAndKill(path, run, (run * 0.37) % 12)));
    const store = await openSqlStore({ driver: nodeSqlite, clock: systemClock, path, lease: null });
    for (const entry of await store.log(seq, 1_000_000)) if (entry.seq !== ++seq) expect(entry.seq).toBe(seq);
    expect(seq).toBe(await store.seq());
    const found = new Set<string>();
    for (const n of [0, 1, 2]) {
      const calls = await store.calls(`${run}-${n}`);
      const notes = await store.events(`${run}-${n}`, "0", "note");
      // A call and its note are one batch: never one without the other.
      expect(notes.map((note) => note.data.id)).toEqual(calls.map((kept) => kept.id));
      for (const kept of calls) found.add(kept.id);
    }
    const mine = acknowledged.filter((id) => id.startsWith(`${run}-`));
    expect(mine.length).toBeGreaterThan(0);
    expect(mine.filter((id) => !found.has(id))).toEqual([]);
    await store.close();
  }
  const store = await openSqlStore({ driver: nodeSqlite, clock: systemClock, path, lease: null });
  const log = await store.log(0, 1_000_000);
  expect(log.findIndex((entry, at) => entry.seq !== at + 1)).toBe(-1);
  const recorded = new Set(log.map((entry) => entry.name));
  expect(acknowledged.filter((id) => !recorded.has(id))).toEqual([]);
  await store.close();
  return acknowledged.length;
}

it(`no acknowledged event is lost in ${kills} kills`, { timeout: 60_000 }, async () => {
  const half = kills / 2;
  const runs = (from: number) => Array.from({ length: half }, (_, at) => from + at);
  const counts = await Promise.all([
    killInTurn(join(folder, "a.sqlite"), runs(0)),
    killInTurn(join(folder, "b.sqlite"), runs(half)),
  ]);
  expect(Math.min(...counts)).toBeGreaterThan(kills);
});
