import { FormatError } from "../core/errors.ts";
import { type Shape, sameShape } from "../core/shape.ts";
import type { DecoderDescription } from "./decoder.ts";
import type { Family, FileTensor } from "./families/family.ts";
import type { TensorSink } from "./packed_tensors.ts";

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

/** How a file names the tensors of some packed parameters. */
export interface SavedForm {
  /** What messages call it. */
  readonly label: string;
  readonly tensors: readonly FileTensor[];
  /** What the names start with; files whose names lack it throughout are read too. Empty for none. */
  readonly prefix: string;
  /** True for names in files that carry no weights. */
  isRedundant(name: string): boolean;
}

/** How a family's files name a model's weights. */
export function savedForm(family: Family, d: DecoderDescription): SavedForm {
  const { name: label, prefix } = family;
  return { label, prefix, tensors: family.tensors(d), isRedundant: (name) => family.isRedundant(name, d) };
}

/**
 * Copies every tensor of a form from `source` into the packed parameters, one at a time; nothing is written before all
 * names and shapes are known to fit.
 * @throws FormatError "tensor_missing" | "tensor_shape" | "tensor_unknown" naming the tensors
 */
export async function loadWeights(source: WeightSource, form: SavedForm, parameters: TensorSink): Promise<void> {
  const matches = matchTensors(source, form);
  for (const { tensor, sourceName } of matches) {
    parameters.write(tensor.parameter, await source.read(sourceName), tensor.offset);
  }
}

/**
 * The tensors of a form with their names in a source that holds exactly them.
 * @throws FormatError "tensor_missing" | "tensor_shape" | "tensor_unknown" naming the tensors
 */
export function matchTensors(source: WeightSource, form: SavedForm): Match[] {
  const { tensors: wanted, prefix } = form;
  const present = new Set(source.names);
  const inBase = (name: string): string => name.replace(prefix, "");
  const isBare = prefix !== "" && wanted.some((t) => t.name.startsWith(prefix) && present.has(inBase(t.name)));
  const inSource = (name: string): string => (isBare && name.startsWith(prefix) ? inBase(name) : name);
  const matches = wanted.map((tensor) => ({ tensor, sourceName: inSource(tensor.name) }));
  const missing = matches.filter((m) => !present.has(m.sourceName)).map((m) => m.sourceName);
  if (missing.length > 0) throw missingTensors(source, form, missing);
  const expected = new Set(matches.map((m) => m.sourceName));
  const unknown = source.names.filter((n) => !expected.has(n) && !form.isRedundant(n));
  if (unknown.length > 0) throw unknownTensors(source, form, unknown);
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

function missingTensors(source: WeightSource, { label }: SavedForm, names: string[]): FormatError {
  const onlyHead = names.length === 1 && names[0] === "lm_head.weight";
  return new FormatError("tensor_missing", `${source.path} lacks ${nameList(names)}, which ${label} needs.`, {
    do: onlyHead
      ? "Set tie_word_embeddings to true in config.json if the head is the embedding, else fetch the whole model."
      : "Check that config.json belongs to these weights and that every file was fetched.",
    data: { folder: source.path, tensors: names },
  });
}

function unknownTensors(source: WeightSource, { label }: SavedForm, names: string[]): FormatError {
  return new FormatError("tensor_unknown", `${source.path} holds ${nameList(names)}, which ${label} does not have.`, {
    do: "Check that config.json belongs to these weights; weights that would be ignored are refused.",
    data: { folder: source.path, tensors: names },
  });
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
