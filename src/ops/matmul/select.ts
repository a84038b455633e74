import { ConfigError } from "../../core/errors.ts";
import { type Capabilities, softwareLanes } from "../../gpu/capabilities.ts";
import type { DirectTile } from "./direct.ts";
import type { MatmulFamily, MatmulForm } from "./problem.ts";

/** A family with its tile; `rows` of the product per workgroup. */
export type MatmulChoice =
  | { readonly family: "subgroup"; readonly lanes: number; readonly rows: number }
  | { readonly family: "gemv" | "direct"; readonly tile: DirectTile; readonly rows: number }
  | { readonly family: "workgroup"; readonly rows: number };

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

/** Subgroup widths the subgroup family is written for. */
const subgroupWidths: readonly number[] = [4, 8, 16];

function kindOf(caps: Capabilities): AdapterKind {
  if (caps.deviceClass === "gpu") return "gpu";
  return subgroupWidths.includes(caps.subgroupWidth) ? "software+subgroups" : "software";
}

function choiceOf({ family, rows }: Rule, caps: Capabilities): MatmulChoice {
  if (family === "subgroup") return { family, lanes: caps.subgroupWidth, rows };
  if (family === "workgroup") return { family, rows };
  const threads = caps.deviceClass === "gpu" ? 64 : softwareLanes(caps);
  return { family, rows, tile: { rows, columns: rows === 8 ? 2 : 1, threads } };
}

/** One rule per allowed family, from one row on: what tests and measurements ask for by name. */
function forced(caps: Capabilities, families: readonly MatmulFamily[], form: MatmulForm): RankedChoice[] {
  const family = families.find((f) => f !== "gemv" || form !== "TN");
  if (family === undefined) {
    throw new ConfigError(`Kernel family gemv has no form ${form}.`, { do: "Allow another family beside it." });
  }
  if (family === "subgroup" && !subgroupWidths.includes(caps.subgroupWidth)) {
    throw new ConfigError(`Kernel family subgroup needs subgroups of 4, 8 or 16 lanes; ${caps.adapter} has none.`, {
      do: "Leave the family out, or choose another adapter.",
    });
  }
  const rows = { subgroup: caps.subgroupWidth === 16 ? 64 : 32, gemv: 1, direct: 8, workgroup: 32 }[family];
  return [{ choice: choiceOf({ kind: kindOf(caps), fromRows: 1, family, rows }, caps), fromRows: 1 }];
}

/**
 * The kernels for a product with at most `maxRows` rows, in ascending order of the rows they serve; `fixed` when M is
 * always `maxRows`, `special` when b is packed or c is wider. @throws ConfigError when `families` allows nothing that this adapter can run.
 */
export function selectMatmul(
  caps: Capabilities,
  form: MatmulForm,
  maxRows: number,
  fixed: boolean,
  families?: readonly MatmulFamily[],
  special = false,
): RankedChoice[] {
  const choices = choose(caps, form, maxRows, fixed, families);
  return special ? choices.map((r) => ({ ...r, choice: unpacking(r.choice, caps) })) : choices;
}

/** The workgroup family reads f32 and writes all of c; a register tile stands in for it elsewhere. */
function unpacking(choice: MatmulChoice, caps: Capabilities): MatmulChoice {
  if (choice.family !== "workgroup") return choice;
  return choiceOf({ kind: kindOf(caps), fromRows: 1, family: "direct", rows: 8 }, caps);
}

function choose(
  caps: Capabilities,
  form: MatmulForm,
  maxRows: number,
  fixed: boolean,
  families: readonly MatmulFamily[] | undefined,
): RankedChoice[] {
  if (families !== undefined) return forced(caps, families, form);
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
