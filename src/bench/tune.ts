import { writeTuning } from "../engine/tuning_file.ts";
import {
  type Capabilities,
  type KernelFamily,
  servesSubgroups,
  type TunedKernel,
  tuningKey,
} from "../gpu/capabilities.ts";
import type { Device } from "../gpu/device.ts";
import type { MatmulForm } from "../ops/matmul/problem.ts";
import { type MatmulChoice, type RankedChoice, selectMatmul } from "../ops/matmul/select.ts";
import { SquareProduct } from "./square_product.ts";
import { type BenchContext, type Measurement, summarizeSamples } from "./suite.ts";

const forms: readonly MatmulForm[] = ["NN", "NT", "TN"];
/** Sizes that are measured, each for the numbers of rows from `fromRows` on. */
const sizes: readonly { readonly size: number; readonly fromRows: number }[] = [
  { size: 256, fromRows: 65 },
  { size: 1024, fromRows: 512 },
];
/** A challenger takes the table's place only when it needs less than this part of its time. */
const winningPart = 0.9;

/** The kernel that the table chooses for a square product. */
function tableChoice(caps: Capabilities, form: MatmulForm, size: number): MatmulChoice {
  return (selectMatmul(caps, form, size, true).at(-1) as RankedChoice).choice;
}

/** Families worth measuring on an adapter: those whose kernel is another one than the table's, which noise would let win. */
export function challengers(caps: Capabilities, form: MatmulForm, size: number): KernelFamily[] {
  const tiles: KernelFamily[] = ["direct", "workgroup", "workgroup_64x64", "workgroup_128x64"];
  const table = JSON.stringify(tableChoice(caps, form, size));
  const kernelOf = (family: KernelFamily): string =>
    JSON.stringify(selectMatmul(caps, form, size, true, [family]).at(-1)?.choice);
  const candidates: KernelFamily[] = servesSubgroups(caps) ? ["subgroup", ...tiles] : tiles;
  return candidates.filter((family) => kernelOf(family) !== table);
}

/** The family with the least median when that beats the table's by a tenth; null: the table's stays. */
export function pickFamily(
  tableMs: number,
  medians: Readonly<Partial<Record<KernelFamily, number>>>,
): KernelFamily | null {
  const [best] = (Object.entries(medians) as [KernelFamily, number][]).sort((a, b) => a[1] - b[1]);
  return best !== undefined && best[1] < winningPart * tableMs ? best[0] : null;
}

/** What measuring one size showed. */
export interface TuningOutcome {
  readonly fromRows: number;
  readonly table: KernelFamily;
  /** The family that beat the table's; null when none did. */
  readonly winner: KernelFamily | null;
}

/**
 * What to keep of a form's outcomes, in ascending order of rows: the winners, and the table's own family where a winner for
 * fewer rows would hold otherwise.
 */
export function keptOf(form: MatmulForm, outcomes: readonly TuningOutcome[]): TunedKernel[] {
  const kept: TunedKernel[] = [];
  for (const { fromRows, table, winner } of outcomes) {
    const family = winner ?? table;
    const before = kept.at(-1)?.family;
    if (before === undefined ? winner !== null : before !== family) {
      kept.push({ operation: `matmul.${form}`, fromRows, family });
    }
  }
  return kept;
}

/**
 * Measures the families in turns on square products and keeps the winners for this adapter in the user's cache folder,
 * where the engine finds them. Yields every candidate's times.
 */
export async function* tuneMatmul(context: BenchContext, device: Device): AsyncIterable<Measurement> {
  const kept: TunedKernel[] = [];
  for (const form of forms) {
    const outcomes: TuningOutcome[] = [];
    for (const { size, fromRows } of sizes) {
      const { table, byFamily } = await compare(context, device, size, form);
      const median = (samples: readonly number[]): number => summarizeSamples(samples).median;
      const medians = Object.fromEntries(
        Object.entries(byFamily).map(([family, samples]) => [family, median(samples)]),
      );
      const family = pickFamily(median(table), medians);
      outcomes.push({ fromRows, table: tableChoice(device.caps, form, size).family, winner: family });
      const name = `tune_${size}_${form.toLowerCase()}`;
      yield { name: `${name}.table`, samples: table, facts: { chosen: family ?? "table" } };
      for (const [challenger, samples] of Object.entries(byFamily)) {
        yield { name: `${name}.${challenger}`, samples, facts: { chosen: family === challenger } };
      }
    }
    kept.push(...keptOf(form, outcomes));
  }
  const { files, cacheFolder } = context.platform;
  const path = await writeTuning(files, cacheFolder, tuningKey(device.caps), kept);
  context.note(`${kept.length} families differ from the table; kept in ${path}.`);
}

async function compare(
  { clock, repeats }: BenchContext,
  device: Device,
  size: number,
  form: MatmulForm,
): Promise<{ table: number[]; byFamily: Record<string, number[]> }> {
  const families = challengers(device.caps, form, size);
  const products = await Promise.all(
    [undefined, ...families].map((family) => SquareProduct.create(device, size, form, family)),
  );
  for (const product of products) await product.time(clock, 1);
  const samples = products.map((): number[] => []);
  for (let i = 0; i < repeats; i++) {
    for (const [p, product] of products.entries()) samples[p]?.push(await product.time(clock, 2));
  }
  for (const product of products) product.dispose();
  const [table = [], ...others] = samples;
  return { table, byFamily: Object.fromEntries(families.map((family, i) => [family, others[i] ?? []])) };
}
