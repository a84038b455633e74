import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";
import type { SftDataset, SftDatasetFactory, SftDatasetOptions, SftExample } from "../schema/sft.ts";

/**
 * Opens training data: a .jsonl file with one example per line, {"ids":[...],"mask":[...]} or
 * {"segments":[{"text":"...","train":true}, ...]}; or a module (MODULE.ts#NAME) that exports a factory.
 * @throws FormatError "sft_data" naming the line or the export
 */
export async function openSftDataset(files: Files, place: string, options: SftDatasetOptions): Promise<SftDataset> {
  const [path = "", name = "sftDataset"] = place.split("#");
  if (path.endsWith(".jsonl")) return linesDataset(await files.readText(path), path, options);
  const module = await importModule(files, path);
  const factory = module[name];
  if (typeof factory !== "function") {
    throw fault(`${path} exports no function "${name}"`, `Export one, or name another: ${path}#NAME.`);
  }
  return (factory as SftDatasetFactory)(options);
}

async function importModule(files: Files, path: string): Promise<Record<string, unknown>> {
  const url = new URL(`file://${files.absolute(path)}`).href;
  try {
    return (await import(url)) as Record<string, unknown>;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw fault(
      `${path} could not be loaded: ${reason}`,
      "Give a .jsonl file or a JavaScript or TypeScript module.",
      cause,
    );
  }
}

function linesDataset(text: string, path: string, { encode }: SftDatasetOptions): SftDataset {
  const examples = text
    .split("\n")
    .map((line, i) => ({ line: line.trim(), place: `${path} line ${i + 1}` }))
    .filter(({ line }) => line !== "")
    .map(({ line, place }) => parseLine(line, place, encode));
  return { size: examples.length, example: (index) => examples[index] as SftExample };
}

function parseLine(line: string, place: string, encode: (text: string) => number[]): SftExample {
  let value: { ids?: unknown; mask?: unknown; segments?: unknown };
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw fault(`${place} is not JSON`, "Write one JSON object per line.", cause);
  }
  if (isNumbers(value.ids) && isNumbers(value.mask) && value.ids.length === value.mask.length) {
    return { ids: value.ids, mask: value.mask };
  }
  if (Array.isArray(value.segments) && value.segments.every(isSegment)) {
    const pieces = value.segments.map(({ text, train }) => ({ ids: encode(text), train }));
    return {
      ids: pieces.flatMap((p) => p.ids),
      mask: pieces.flatMap((p) => p.ids.map(() => Number(p.train))),
    };
  }
  throw fault(`${place} is no example`, 'Write {"ids":[…],"mask":[…]} or {"segments":[{"text":"…","train":true}]}.');
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((n) => typeof n === "number");
}

function isSegment(value: unknown): value is { text: string; train: boolean } {
  const { text, train } = (value ?? {}) as Record<string, unknown>;
  return typeof text === "string" && typeof train === "boolean";
}

function fault(what: string, advice: string, cause?: unknown): FormatError {
  return new FormatError("sft_data", `${what}.`, { do: advice, cause });
}
