// Plan: rows and summary as the command prints them; exit codes 0, 1, 2; a wrong number, a NaN and a missing tensor are
// found and placed; what nothing reads is said; the same checks pass on Deno and in Chromium.
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import type { GoldenRow } from "../../src/cli/golden_rl/golden_file.ts";
import { type Ran, runLeyden } from "../cli/run_leyden.ts";
import { itShared } from "../shared.ts";

const committed = fileURLToPath(new URL("../golden", import.meta.url));
const model = `${committed}/models/llama-tied`;
const temporary: string[] = [];

afterAll(() => Promise.all(temporary.map((folder) => rm(folder, { recursive: true }))));

/** Where in a golden.json, and the value to put there. */
type Change = readonly [path: readonly (string | number)[], value: unknown];

/** A copy of the committed model with changes in its golden.json. */
async function altered(...changes: readonly Change[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leyden_golden_"));
  temporary.push(folder);
  await cp(model, folder, { recursive: true });
  const golden: unknown = JSON.parse(readFileSync(`${folder}/golden.json`, "utf8"));
  for (const [path, value] of changes) {
    let at = golden as Record<string | number, unknown>;
    for (const key of path.slice(0, -1)) at = at[key] as Record<string | number, unknown>;
    at[path.at(-1) as string] = value;
  }
  await writeFile(`${folder}/golden.json`, JSON.stringify(golden));
  return folder;
}

function report(ran: Ran): { rows: GoldenRow[]; summary: unknown } {
  const lines = ran.json();
  return { rows: lines.slice(0, -1) as GoldenRow[], summary: lines.at(-1) };
}

/** The device that a summary names. */
const someDevice = { adapter: expect.stringMatching(/./), features: expect.any(Array) };

describe("leyden golden", () => {
  it("checks a folder of everything and counts", async () => {
    const ran = await runLeyden(["golden", committed, "--json"]);
    const { rows, summary } = report(ran);
    expect(rows.filter((row) => row.pass !== true)).toEqual([]);
    expect(summary).toEqual({ summary: true, passed: rows.length, failed: 0, unchecked: 0, device: someDevice });
    expect(ran.code).toBe(0);
    expect(new Set(rows.map((row) => row.file)).has("llama-tied")).toBe(true);
    expect(Object.keys(rows[0] as GoldenRow)).toEqual(["file", "check", "cases", "worst", "tolerance", "pass", "note"]);
  });

  it("fails on one wrong number in any section, and says where", async () => {
    const wrong: [check: string, note: string, change: Change][] = [
      ["logits", "worst at [259]", [["logits", 2, 3], 9]],
      ["logprobs", "worst at [4]", [["logprobs", 4], -1]],
      ["layer_trace", "worst at sequence 1 depth 2", [["layer_trace", 1, 2, "l2"], 1]],
      ["ppo.grads", "20 tensors; worst at model.norm.weight l2", [["ppo", "grads", "model.norm.weight", "l2"], 1e5]],
      [
        "adamw.params_after",
        "20 tensors; worst at model.embed_tokens.weight[1]",
        [["adamw", "params_after", "model.embed_tokens.weight", "val", 1], 0.5],
      ],
      ["greedy.output", "argmax after each prefix; worst at token 15: ", [["greedy", "output", 15], 77]],
    ];
    for (const [check, note, change] of wrong) {
      const ran = await runLeyden(["golden", await altered(change), "--json"]);
      const failed = report(ran).rows.filter((row) => row.pass === false);
      expect(ran.code, check).toBe(1);
      expect(failed.map((row) => row.check)).toContain(check);
      expect(failed.find((row) => row.check === check)?.note).toContain(note);
    }
  });

  it("fails on NaN, on an unknown tensor and on a list of another length", async () => {
    const summary = { shape: [1], sum: 0, abs_sum: 0, l2: 0, idx: [], val: [] };
    const folder = await altered(
      [["logits", 0, 0], "nan"],
      [["ppo", "grads", "model.extra.weight"], summary],
      [["entropies"], [0, 1]],
    );
    const { rows } = report(await runLeyden(["golden", folder, "--json"]));
    const failed = Object.fromEntries(rows.filter((r) => r.pass === false).map((r) => [r.check, r]));
    expect(Object.keys(failed)).toEqual(["logits", "entropies", "ppo.grads"]);
    expect(failed.logits?.worst).toBe("inf");
    expect(failed.entropies?.note).toBe("worst at length 26");
    expect(failed["ppo.grads"]?.note).toBe("21 tensors; worst at no tensor model.extra.weight");
  });

  it("ignores what lies outside the mask, even where it is no number", async () => {
    const { ppo } = JSON.parse(readFileSync(`${model}/golden.json`, "utf8")) as { ppo: { mask: number[] } };
    const outside = ppo.mask.lastIndexOf(0);
    const folder = await altered(
      [["ppo", "old_logprobs", outside], "nan"],
      [["ppo", "advantages", outside], "-inf"],
      [["full_loss", "ref_logprobs", outside], "inf"],
      [["full_loss", "is_weights", outside], "nan"],
    );
    expect((await runLeyden(["golden", folder])).code).toBe(0);
  });

  it("says what it does not read and ends with 2", async () => {
    const folder = await altered([["perplexity"], 3], [["sft", "accuracy"], 0.5]);
    const ran = await runLeyden(["golden", folder, "--json"]);
    const unread = report(ran).rows.filter((row) => row.pass === null);
    expect(unread.map(({ check, note }) => [check, note])).toEqual([
      ["perplexity", "not run"],
      ["sft.accuracy", "not run"],
    ]);
    expect(ran.code).toBe(2);
  });

  it("refuses a place without goldens, and a golden of another form", async () => {
    const nothing = await runLeyden(["golden", fileURLToPath(new URL("../runtime", import.meta.url)), "--json"]);
    expect(nothing.code).toBe(4);
    expect(nothing.out).toContain("holds no golden file.");
    const folder = await altered([["temperature"], "warm"]);
    const form = await runLeyden(["golden", folder, "--json"]);
    expect(form.code).toBe(4);
    expect(form.out).toContain("golden.json: temperature: ");
  });

  it("says which device its models ran on, and none where there is no model", async () => {
    const ran = await runLeyden(["golden", model]);
    expect(ran.out).toMatch(/\nmodels on .+, with .+\n\d+ passed, 0 failed, 0 unchecked\n$/);
    const numbers = await runLeyden(["golden", `${committed}/rl/kl.json`, "--json"]);
    expect(report(numbers).summary).toMatchObject({ summary: true, device: null });
  });

  itShared("says that a family is not supported and ends with 2", "golden/models/qwen3_5", async (path) => {
    const ran = await runLeyden(["golden", path, "--json"]);
    expect(report(ran).summary).toEqual({ summary: true, passed: 0, failed: 0, unchecked: 1, device: someDevice });
    expect(ran.code).toBe(2);
  });

  it("passes on Deno", async () => {
    const ran = await runLeyden(["golden", committed, "--runtime", "deno", "--json"]);
    const { rows, summary } = report(ran);
    expect(rows.filter((row) => row.pass !== true)).toEqual([]);
    expect(summary).toEqual({ summary: true, passed: rows.length, failed: 0, unchecked: 0, device: someDevice });
    expect(rows.length).toBeGreaterThan(100);
  });

  it("passes in Chromium", async (context) => {
    const chromium = process.env.LEYDEN_CHROMIUM ?? "/usr/bin/chromium";
    if (!existsSync(chromium)) context.skip(`no Chromium at ${chromium}`);
    const ran = await runLeyden(["golden", committed, "--runtime", "chromium", "--json"]);
    const { rows, summary } = report(ran);
    expect(rows.filter((row) => row.pass !== true)).toEqual([]);
    expect(summary).toEqual({ summary: true, passed: rows.length, failed: 0, unchecked: 0, device: someDevice });
    expect(rows.length).toBeGreaterThan(100);
  });
});
