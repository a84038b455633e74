import { deriveKey, Rng, seedKey } from "../../core/rng.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Device } from "../../gpu/device.ts";
import { type LoraConfig, loraScale } from "../../schema/lora.ts";
import type { DecoderDescription } from "../decoder.ts";
import type { DecoderGradients, LinearGradients, LoraWeights } from "../decoder_weights.ts";
import type { Family, FileTensor } from "../families/family.ts";
import { loadWeights, type SavedForm, type WeightSource } from "../load_weights.ts";
import { PackedTensors } from "../packed_tensors.ts";
import { layOutParameters, type ParameterSpec } from "../parameter_layout.ts";
import { type LoraSite, loraSites, loraTensors, pairNames } from "./sites.ts";

/** The model an adapter belongs to. */
export interface AdapterBase {
  readonly device: Device;
  readonly family: Family;
  readonly description: DecoderDescription;
}

/** Low-rank pairs beside some of a model's projections, packed for one optimizer dispatch. */
export class Adapter {
  readonly name: string;
  readonly config: LoraConfig;
  readonly parameters: PackedTensors;
  /** Its tensors under PEFT's names. */
  readonly tensors: readonly FileTensor[];
  private readonly sites: ReadonlyMap<string, LoraSite>;

  private constructor({ device, family, description: d }: AdapterBase, name: string, config: LoraConfig) {
    this.name = name;
    this.config = config;
    const sites = loraSites(family, d, config.targets);
    this.sites = new Map(sites.map((s) => [s.parameter, s]));
    this.tensors = loraTensors(sites, config.rank);
    const { maxBufferBytes, offsetAlignment } = device.caps.limits;
    const limits = { maxSegmentBytes: maxBufferBytes, alignment: offsetAlignment };
    this.parameters = new PackedTensors(
      device,
      layOutParameters(pairSpecs(sites, config.rank), limits),
      `lora.${name}`,
    );
  }

  /** An adapter without values, on a counting device, to find out what it takes. */
  static blank(base: AdapterBase, name: string, config: LoraConfig): Adapter {
    return new Adapter(base, name, config);
  }

  /**
   * A fresh adapter, which adds nothing yet: A uniform in +-1/sqrt(K) (Kaiming with a = sqrt(5), as PEFT starts it), each
   * tensor from its own stream by its name; B zero.
   * @throws ConfigError for targets the model does not have
   */
  static create(base: AdapterBase, name: string, config: LoraConfig, seed: number): Adapter {
    const adapter = new Adapter(base, name, config);
    for (const t of adapter.tensors) {
      if (!t.parameter.endsWith(".lora_A")) continue;
      const rng = new Rng(deriveKey(seedKey(seed), "lora", name, t.name));
      const bound = 1 / Math.sqrt(t.shape[1] as number);
      const values = Float32Array.from({ length: sizeOf(t.shape) }, () => bound * (2 * rng.uniform() - 1));
      adapter.parameters.write(t.parameter, values, t.offset);
    }
    return adapter;
  }

  /** An adapter with saved pairs. @throws FormatError naming the tensor that is missing, too much, or of another shape */
  static async load(base: AdapterBase, name: string, config: LoraConfig, source: WeightSource): Promise<Adapter> {
    const adapter = new Adapter(base, name, config);
    try {
      await loadWeights(source, adapter.savedForm, adapter.parameters);
      return adapter;
    } catch (error) {
      adapter.dispose();
      throw error;
    }
  }

  /** How its tensors are named in a file. */
  get savedForm(): SavedForm {
    return { label: `adapter "${this.name}"`, tensors: this.tensors, prefix: "", isRedundant: () => false };
  }

  /** The pairs beside a projection ("layers.0.qkv"), if it has some. */
  pair(parameter: string): LoraWeights | undefined {
    const site = this.sites.get(parameter);
    if (site === undefined) return undefined;
    const { a, b } = pairNames(site);
    const tensors = { a: this.parameters.tensor(a), b: this.parameters.tensor(b) };
    return { ...tensors, scale: loraScale(this.config), parts: site.modules };
  }

  /** Gradients packed like the adapter, by role; all else is frozen. */
  gradients(packed: PackedTensors, layers: number): DecoderGradients {
    const linear = (parameter: string): LinearGradients => {
      const site = this.sites.get(parameter);
      if (site === undefined) return {};
      const { a, b } = pairNames(site);
      return { lora: { a: packed.tensor(a), b: packed.tensor(b) } };
    };
    const layer = (at: string): DecoderGradients["layers"][number] => ({
      norm1: {},
      qkv: linear(`${at}.qkv`),
      out: linear(`${at}.out`),
      norm2: {},
      up: linear(`${at}.up`),
      down: linear(`${at}.down`),
    });
    return { layers: Array.from({ length: layers }, (_, i) => layer(`layers.${i}`)), norm: {} };
  }

  /** Releases the device memory. */
  dispose(): void {
    this.parameters.dispose();
  }
}

function pairSpecs(sites: readonly LoraSite[], rank: number): ParameterSpec[] {
  return sites.flatMap((site) => {
    const { a, b } = pairNames(site);
    const rows = site.modules.reduce((n, m) => n + m.columns, 0);
    return [
      { name: a, shape: [site.modules.length * rank, site.inputs], init: "matrix" as const },
      { name: b, shape: [rows, rank], init: "zero" as const },
    ];
  });
}
