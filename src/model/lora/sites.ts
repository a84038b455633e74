import { ConfigError } from "../../core/errors.ts";
import type { LoraPart } from "../../ops/lora.ts";
import type { LoraConfig } from "../../schema/lora.ts";
import type { DecoderDescription } from "../decoder.ts";
import type { Family, FileTensor } from "../families/family.ts";

/** A linear layer of the blocks under its module's name, as a range of columns of one of our projections. */
export interface LinearModule extends LoraPart {
  /** Its module's name in the family's files: model.layers.0.self_attn.q_proj. */
  readonly module: string;
}

/** One projection of ours with the modules in it that have a low-rank pair. */
export interface LoraSite {
  /** Name of the projection: layers.0.qkv. */
  readonly parameter: string;
  /** Numbers it reads per row (K). */
  readonly inputs: number;
  /** In ascending order of their columns. */
  readonly modules: readonly LinearModule[];
}

const projection = /^layers\.\d+\.(qkv|out|up|down)$/;
const suffix = ".weight";

/** Every projection of a decoder with all of its modules. */
function allSites(family: Family, d: DecoderDescription): LoraSite[] {
  const tensors = new Map<string, FileTensor[]>();
  for (const t of family.tensors(d)) {
    if (projection.test(t.parameter)) tensors.set(t.parameter, [...(tensors.get(t.parameter) ?? []), t]);
  }
  return [...tensors].map(([parameter, parts]) => siteOf(parameter, parts, d));
}

function siteOf(parameter: string, parts: readonly FileTensor[], d: DecoderDescription): LoraSite {
  const sides = parts.map(({ shape: [first = 0, second = 0] }) =>
    d.weightLayout === "out_in" ? { columns: first, inputs: second } : { columns: second, inputs: first },
  );
  const inputs = sides[0]?.inputs ?? 0;
  const modules = parts.map((t, i) => ({
    module: t.name.slice(0, -suffix.length),
    column: d.weightLayout === "out_in" ? t.offset / inputs : 0,
    columns: sides[i]?.columns ?? 0,
  }));
  return { parameter, inputs, modules: modules.toSorted((a, b) => a.column - b.column) };
}

function isMeant(module: string, target: string): boolean {
  return module === target || module.endsWith(`.${target}`);
}

/**
 * The projections that `targets` means, with only the meant modules.
 * @throws ConfigError when a target names no linear layer of the blocks, listing those there are
 */
export function loraSites(family: Family, d: DecoderDescription, targets: LoraConfig["targets"]): LoraSite[] {
  const sites = allSites(family, d);
  if (targets === "all-linear") return sites;
  const modules = sites.flatMap((s) => s.modules.map((m) => m.module));
  const unknown = targets.find((target) => !modules.some((m) => isMeant(m, target)));
  if (unknown !== undefined) {
    const known = [...new Set(modules.map((m) => m.split(".").at(-1)))].join(", ");
    throw new ConfigError(`LoRA target "${unknown}" is no linear layer in the blocks of a ${family.name} model.`, {
      do: `Use "all-linear" or some of: ${known}.`,
      data: { target: unknown, family: family.name },
    });
  }
  return sites
    .map((s) => ({ ...s, modules: s.modules.filter((m) => targets.some((target) => isMeant(m.module, target))) }))
    .filter((s) => s.modules.length > 0);
}

/** Names of a site's two parameters in the adapter's layout. */
export function pairNames({ parameter }: Pick<LoraSite, "parameter">): { readonly a: string; readonly b: string } {
  return { a: `${parameter}.lora_A`, b: `${parameter}.lora_B` };
}

/** The adapter's tensors under PEFT's names: per module lora_A (r,K) and lora_B (columns,r). */
export function loraTensors(sites: readonly LoraSite[], rank: number): FileTensor[] {
  return sites.flatMap((site) => {
    const { a, b } = pairNames(site);
    let row = 0;
    return site.modules.flatMap(({ module, columns }, i) => {
      const name = (side: "A" | "B"): string => `base_model.model.${module}.lora_${side}.weight`;
      const pair = [
        { name: name("A"), shape: [rank, site.inputs], parameter: a, offset: i * rank * site.inputs },
        { name: name("B"), shape: [columns, rank], parameter: b, offset: row * rank },
      ];
      row += columns;
      return pair;
    });
  });
}
