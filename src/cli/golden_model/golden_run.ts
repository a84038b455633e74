import { FormatError } from "../../core/errors.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Model } from "../../model/model.ts";
import type { PackedTensors } from "../../model/packed_tensors.ts";
import type { Trainer } from "../../train/trainer.ts";
import type { ModelGolden } from "./model_golden.ts";

/** One golden model loaded on a device: what every check gets. */
export interface GoldenRun {
  /** Name of the folder in the report. */
  readonly file: string;
  readonly golden: ModelGolden;
  readonly model: Model;
  readonly trainer: Trainer;
}

/** Values of `packed` under the names of the saved model, read when asked for. @throws FormatError for another name */
export async function readNamed(model: Model, packed: PackedTensors, name: string): Promise<Float32Array> {
  const found = model.family.tensors(model.description).find((t) => t.name === name);
  if (found === undefined) {
    throw new FormatError("golden_format", `The golden names a tensor "${name}" that ${model.family.name} lacks.`, {
      do: "Check that golden.json and config.json belong together.",
    });
  }
  return packed.read(found.parameter, found.offset, sizeOf(found.shape));
}

/** Names of every tensor of the saved model. */
export function tensorNames(model: Model): string[] {
  return model.family.tensors(model.description).map((t) => t.name);
}
