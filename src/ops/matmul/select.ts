import { ConfigError } from "../../core/errors.ts";
import { type Capabilities, servesSubgroups, softwareLanes } from "../../gpu/capabilities.ts";
import type { DirectTile } from "./direct.ts";
import type { MatmulFamily, MatmulForm } from "./problem.ts";
import type { WorkgroupTile } from "./workgroup.ts";

/** A family with its tile; `rows` of the product per workgroup. */
export type MatmulChoice =
  | { readonly family: "subgroup"; readonly lanes: number; readonly rows: number }
  | { readonly family: "gemv" | "direct"; readonly tile: DirectTile; readonly rows: number }
  | { readonly family: WorkgroupFamily; readonly tile: WorkgroupTile; readonly rows: number };

type WorkgroupFamily = Exclude<MatmulFamily, "subgroup" | "gemv" | "direct">;

const workgroupTiles: Readonly<Record<WorkgroupFamily, WorkgroupTile>> = {
  workgroup: { rows: 32, columns: 32, perThread: 4 },
  workgroup_64x64: { rows: 64, columns: 64, perThread: 4 },
  workgroup_128x64: { rows: 128, columns: 64, perThread: 8 },
};

/** A choice and the values of M it serves, from `fromRows` up to the next choice's. */
export interface RankedChoice {
  readonly choice: MatmulChoice;
  readonly fromRows: number;
}

/** Where a rule applies: `software` and `gpu` adapters, with or without subgroups of a fixed width of 4, 8 or 16. */
type AdapterKind = "software+subgroups" | "software" | "gpu";

interface Rule {
  readonly kind: AdapterKind;
  readonly fromRows: number;
  readonly family: MatmulFamily;
  readonly rows: number;
  /** The only width of subgroups it serves; without it every one. */
  readonly lanes?: number;
}

/**
 * The measured table (test/bench/LOG.md). Few rows are bound by reading the weights, many by the products; between the
 * two a tile as high as the batch wastes the least. The two-dimensional tiles are the same for all three forms.
 */
const rules: readonly Rule[] = [
  { kind: "software+subgroups", fromRows: 1, family: "gemv", rows: 1 },
  { kind: "software+subgroups", fromRows: 2, family: "subgroup", rows: 8 },
  { kind: "software+subgroups", fromRows: 17, family: "subgroup", rows: 32 },
  { kind: "software+subgroups", fromRows: 33, family: "subgroup", rows: 64, lanes: 16 },
  { kind: "software", fromRows: 1, family: "gemv", rows: 1 },
  { kind: "software", fromRows: 2, family: "direct", rows: 4 },
  { kind: "software", fromRows: 9, family: "direct", rows: 8 },
  { kind: "gpu", fromRows: 1, family: "gemv", rows: 1 },
  { kind: "gpu", fromRows: 4, family: "workgroup", rows: 32 },
];

/**
 * A plan whose largest M is at most this (decoding) records one dispatch per row bucket and runs the one that fits the
 * replay's M; a plan for more rows (training, prefill) records tiles of at least `tallRows` only, or else the widest.
 */
const bucketedRows = 64;
const tallRows = 32;

function kindOf(caps: Capabilities): AdapterKind {
  if (caps.deviceClass === "gpu") return "gpu";
  return servesSubgroups(caps) ? "software+subgroups" : "software";
}

function choiceOf({ family, rows }: Rule, caps: Capabilities): MatmulChoice {
  if (family === "subgroup") return { family, lanes: caps.subgroupWidth, rows };
  if (family !== "gemv" && family !== "direct") return { family, rows, tile: workgroupTiles[family] };
  const threads = caps.deviceClass === "gpu" ? 64 : softwareLanes(caps);
  return { family, rows, tile: { rows, columns: rows === 8 ? 2 : 1, threads } };
}

/** The one rule of an allowed family, from one row on: what users, tests and measurements ask for by name. */
function forced(caps: Capabilities, families: readonly MatmulFamily[], form: MatmulForm): RankedChoice[] {
  const family = families.find((f) => f !== "gemv" || form !== "TN");
  if (family === undefined) {
    throw new ConfigError(`Kernel family gemv has no form ${form}.`, { do: "Allow another family beside it." });
  }
  if (family === "subgroup" && !servesSubgroups(caps)) {
    throw new ConfigError(`Kernel family subgroup needs subgroups of 4, 8 or 16 lanes; ${caps.adapter} has none.`, {
      do: "Leave the family out, or choose another adapter.",
    });
  }
  const rows = { subgroup: caps.subgroupWidth === 16 ? 64 : 32, gemv: 1, direct: 8 };
  const tall = family in rows ? rows[family as keyof typeof rows] : workgroupTiles[family as WorkgroupFamily].rows;
  return [{ choice: choiceOf({ kind: kindOf(caps), fromRows: 1, family, rows: tall }, caps), fromRows: 1 }];
}

/** What measuring chose for this many rows, if it did. */
function tunedFamily({ tuned = [] }: Capabilities, form: MatmulForm, rows: number): MatmulFamily | undefined {
  const reached = tuned.filter((t) => t.operation === `matmul.${form}` && t.fromRows <= rows);
  return reached.sort((a, b) => b.fromRows - a.fromRows)[0]?.family;
}

/**
 * The kernels for a product with at most `maxRows` rows, in ascending order of the rows they serve; `fixed` when M is
 * always `maxRows`. @throws ConfigError when `families` allows nothing that this adapter can run.
 */
export function selectMatmul(
  caps: Capabilities,
  form: MatmulForm,
  maxRows: number,
  fixed: boolean,
  families?: readonly MatmulFamily[],
): RankedChoice[] {
  if (families !== undefined) return forced(caps, families, form);
  // The family asked for, where it has the form.
  if (caps.kernels !== undefined && (caps.kernels !== "gemv" || form !== "TN"))
    return forced(caps, [caps.kernels], form);
  const tuned = tunedFamily(caps, form, maxRows);
  if (tuned !== undefined && (fixed || maxRows > bucketedRows)) return forced(caps, [tuned], form);
  const usable = rules.filter(
    (r) =>
      r.kind === kindOf(caps) &&
      (form !== "TN" || r.family !== "gemv") &&
      (r.lanes === undefined || r.lanes === caps.subgroupWidth),
  );
  const reached = usable.filter((r, i) => i === 0 || r.fromRows <= maxRows);
  const widest = reached.at(-1) as Rule;
  const kept =
    form === "TN" || fixed
      ? [widest]
      : reached.filter((r) => maxRows <= bucketedRows || r.rows >= Math.min(widest.rows, tallRows));
  return kept.map((r, i) => ({ choice: choiceOf(r, caps), fromRows: i === 0 ? 1 : r.fromRows }));
}
