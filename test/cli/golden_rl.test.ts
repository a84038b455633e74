import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { difference } from "../../src/cli/golden_rl/compare.ts";
import type { GoldenRow } from "../../src/cli/golden_rl/golden_file.ts";
import { runMergeGolden, runRlGolden } from "../../src/cli/golden_rl.ts";
import { itShared } from "../shared.ts";

const committed = fileURLToPath(new URL("../golden/", import.meta.url));

function read(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** Rows of every file of a golden folder. */
function runFolder(folder: string): GoldenRow[] {
  const rl = readdirSync(`${folder}/rl`).flatMap((name) => runRlGolden(read(`${folder}/rl/${name}`), name));
  return [...rl, ...runMergeGolden(read(`${folder}/merge/merge.json`))];
}

const kinds = [
  ...["advantages", "agl_rollout_level", "agl_row_drop", "decoupled_ppo", "gae", "kl", "loss_agg", "merge"],
  ...["policy_loss", "rollout_correction", "sampling"],
];

describe("golden rl and merge files", () => {
  it("pass, every field of every kind checked, in the cases that the repository holds", () => {
    const rows = runFolder(committed);
    expect(rows.filter((row) => row.pass !== true)).toEqual([]);
    expect([...new Set(rows.map((row) => row.file))].sort()).toEqual(kinds.map((kind) => `${kind}.json`));
    expect(rows.length).toBeGreaterThan(75);
    for (const row of rows) expect(row.cases).toBeGreaterThan(0);
  });

  itShared("pass in full", "golden", (folder) => {
    expect(runFolder(folder).filter((row) => row.pass !== true)).toEqual([]);
  });
});

/** A kl file of one case. */
function klFile(expect: Record<string, unknown>, more: Record<string, unknown> = {}): unknown {
  return {
    format: "agl-golden-rl/1",
    name: "kl",
    cases: [{ id: 7, logprob: [-1], ref_logprob: [-2], expect, ...more }],
  };
}

describe("a golden check", () => {
  it("fails on a wrong number and says where", () => {
    const [row] = runRlGolden(klFile({ k1: { value: [1.00001], grad: [1] } }));
    expect(row).toMatchObject({ file: "kl.json", check: "k1", cases: 1, pass: false, note: "case 7 at .value[0]" });
    expect(row?.worst).toBeCloseTo(1e-5, 8);
    expect(runRlGolden(klFile({ k1: { value: [1.0000000001], grad: [1] } }))[0]?.pass).toBe(true);
  });

  it("fails on a wrong shape, a missing key and a NaN", () => {
    const wrong = [{ value: [1, 1], grad: [1] }, { value: [1] }, { value: ["nan"], grad: [1] }, [1], null];
    for (const k1 of wrong) expect(runRlGolden(klFile({ k1 }))[0], JSON.stringify(k1)).toMatchObject({ pass: false });
  });

  it("fails in every file when one expected number is changed", () => {
    for (const name of readdirSync(`${committed}/rl`)) {
      const file = read(`${committed}/rl/${name}`) as { cases: { expect: Record<string, unknown> }[] };
      for (const check of Object.keys(file.cases[0]?.expect ?? {})) {
        const changed = structuredClone(file);
        const expected = changed.cases[0]?.expect as Record<string, unknown>;
        expected[check] = { surprise: 1 };
        const row = runRlGolden(changed).find((r) => r.check === check);
        expect(row?.pass, `${name} ${check}`).toBe(false);
      }
    }
  });

  it("reports what it does not run instead of passing it", () => {
    const rows = runRlGolden(klFile({ k1: { value: [1], grad: [1] }, k9: { value: [1] } }, { top_entropy: 0.2 }));
    expect(rows.filter((row) => row.pass === null).map((row) => [row.check, row.cases, row.note])).toEqual([
      ["input top_entropy", 1, "not run"],
      ["k9", 1, "not run"],
    ]);
    expect(runRlGolden({ format: "agl-golden-rl/1", name: "vtrace", cases: [] }, "vtrace.json")).toEqual([
      {
        ...{ file: "vtrace.json", check: "vtrace", cases: 0, worst: 0, tolerance: 0, pass: null },
        note: 'There is no check for the kind "vtrace".',
      },
    ]);
    expect(runRlGolden(null)[0]?.pass).toBeNull();
  });

  it("names the place that is not in the golden format", () => {
    expect(() => runRlGolden({ name: "kl" })).toThrow(/^kl\.json: cases: /);
    expect(() => runRlGolden(klFile({}, { logprob: "x" }), "a/kl.json")).toThrow(/^a\/kl\.json case 7: logprob: /);
    expect(() => runMergeGolden([])).toThrow(/^merge\.json: /);
  });

  it("fails, not crashes, when an option is not known", () => {
    const file = {
      name: "rollout_correction",
      cases: [
        {
          ...{ id: 1, train_logprob: [[-1]], rollout_logprob: [[-1]], mask: [[1]] },
          expect: { weights: { sideways_truncate_2: [[1]] }, rejection: { "token_k9|None|2": [[1]] } },
        },
      ],
    };
    expect(runRlGolden(file).map((row) => [row.pass, row.note])).toEqual([
      [false, 'case 1: There is no correction "sideways_truncate_2".'],
      [false, 'case 1: There is no rejection statistic "token_k9".'],
    ]);
  });
});

describe("differences", () => {
  it("are relative above the floor and absolute below", () => {
    expect(difference(101, 100, 1)).toEqual({ worst: 0.01, place: "" });
    expect(difference(0.001, 0, 0.1).worst).toBeCloseTo(0.01, 12);
    expect(difference(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 1).worst).toBe(0);
    expect(difference(Number.NaN, Number.NaN, 1).worst).toBe(0);
    expect(difference(Number.NaN, 1, 1).worst).toBe(Number.POSITIVE_INFINITY);
    expect(difference(true, 1, 1).worst).toBe(Number.POSITIVE_INFINITY);
    expect(difference([1, 2], Float64Array.of(1, 2), 1).worst).toBe(0);
    expect(difference({ a: 1 }, { a: 1, b: 2 }, 1)).toEqual({ worst: Number.POSITIVE_INFINITY, place: ".b" });
  });
});
