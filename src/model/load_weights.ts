import { FormatError } from "../core/errors.ts";
import { type Shape, sameShape } from "../core/shape.ts";
import type { DecoderDescription } from "./decoder.ts";
import type { Family, FileTensor } from "./families/family.ts";
import type { PackedTensors } from "./packed_tensors.ts";

/** Named tensors to load from: an open model folder, or a file in memory. */
export interface WeightSource {
  readonly path: string;
  readonly names: readonly string[];
  entry(name: string): { readonly shape: Shape };
  /** The tensor as f32, row-major. */
  read(name: string): Promise<Float32Array>;
}

/** One tensor of the family and the name it has in this source. */
interface Match {
  readonly tensor: FileTensor;
  readonly sourceName: string;
}

/**
 * Copies every weight of the model from `source` into the packed parameters, one tensor at a time; nothing is written
 * before all names and shapes are known to fit. Files of a base model, without the causal model's prefix, load too.
 * @throws FormatError "tensor_missing" | "tensor_shape" | "tensor_unknown" naming the tensors
 */
export async function loadWeights(
  source: WeightSource,
  family: Family,
  description: DecoderDescription,
  parameters: PackedTensors,
): Promise<void> {
  const matches = matchTensors(source, family, description);
  for (const { tensor, sourceName } of matches) {
    parameters.write(tensor.parameter, await source.read(sourceName), tensor.offset);
  }
}

function matchTensors(source: WeightSource, family: Family, description: DecoderDescription): Match[] {
  const wanted = family.tensors(description);
  const present = new Set(source.names);
  const inBase = (name: string): string => name.replace(family.prefix, "");
  const isBare = wanted.some((t) => t.name.startsWith(family.prefix) && present.has(inBase(t.name)));
  const inSource = (name: string): string => (isBare && name.startsWith(family.prefix) ? inBase(name) : name);
  const matches = wanted.map((tensor) => ({ tensor, sourceName: inSource(tensor.name) }));
  const missing = matches.filter((m) => !present.has(m.sourceName)).map((m) => m.sourceName);
  if (missing.length > 0) throw missingTensors(source, family, missing);
  const expected = new Set(matches.map((m) => m.sourceName));
  const unknown = source.names.filter((n) => !expected.has(n) && !family.isRedundant(n, description));
  if (unknown.length > 0) throw unknownTensors(source, family, unknown);
  for (const { tensor, sourceName } of matches) {
    const { shape } = source.entry(sourceName);
    if (!sameShape(shape, tensor.shape)) throw wrongShape(source, sourceName, tensor.shape, shape);
  }
  return matches;
}

/** Up to four names and how many more there are. */
function nameList(names: readonly string[]): string {
  const shown = names.slice(0, 4).map((n) => `"${n}"`);
  return names.length > 4 ? `${shown.join(", ")} and ${names.length - 4} more` : shown.join(", ");
}

function missingTensors(source: WeightSource, family: Family, names: string[]): FormatError {
  const onlyHead = names.length === 1 && names[0] === "lm_head.weight";
  return new FormatError("tensor_missing", `${source.path} lacks ${nameList(names)}, which ${family.name} needs.`, {
    do: onlyHead
      ? "Set tie_word_embeddings to true in config.json if the head is the embedding, else fetch the whole model."
      : "Check that config.json belongs to these weights and that every file was fetched.",
    data: { folder: source.path, tensors: names },
  });
}

function unknownTensors(source: WeightSource, family: Family, names: string[]): FormatError {
  return new FormatError(
    "tensor_unknown",
    `${source.path} holds ${nameList(names)}, which ${family.name} does not have.`,
    {
      do: "Check that config.json belongs to these weights; weights that would be ignored are refused.",
      data: { folder: source.path, tensors: names },
    },
  );
}

function wrongShape(source: WeightSource, name: string, expected: Shape, got: Shape): FormatError {
  return new FormatError(
    "tensor_shape",
    `${source.path}: tensor "${name}" is (${got.join(",")}); config.json asks for (${expected.join(",")}).`,
    {
      do: "Use the config.json that was saved with these weights.",
      data: { folder: source.path, tensor: name, expected, got },
    },
  );
}
