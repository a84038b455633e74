import type { FileDType } from "../core/dtype.ts";
import type { Files } from "../schema/files.ts";
import { UsageError } from "./args.ts";
import type { Command, CommandContext } from "./command.ts";
import { counted } from "./counted.ts";
import { exportModel } from "./export_model.ts";
import { modelFolderOf } from "./model_place.ts";
import { requireEmptyFolder } from "./target_folder.ts";

const dtypes: Readonly<Record<string, FileDType>> = { f32: "F32", f16: "F16", bf16: "BF16" };

/** `leyden export`: a run's model as a Hugging Face folder. */
export const command: Command = {
  name: "export",
  summary: "Writes a run's or a folder's model as a clean Hugging Face folder.",
  positionals: { usage: "OUT", min: 1, max: 1 },
  options: {
    model: { kind: "text", value: "DIR", summary: "Run (its newest checkpoint), checkpoint, or model folder." },
    dtype: { kind: "text", summary: "Type of the weights; their own by default.", choices: Object.keys(dtypes) },
    force: { kind: "flag", summary: "Write into a folder that is not empty, replacing the model there." },
  },
  run: runExport,
};

async function runExport(context: CommandContext): Promise<number> {
  const { args, platform } = context;
  const { files } = platform;
  const out = args.positionals[0] as string;
  const source = await modelFolderOf(files, args.requireText("model"));
  const dtype = args.text("dtype");
  await requireTarget(files, source, out, args.flag("force"));
  const written = await exportModel(files, source, out, dtype === undefined ? null : (dtypes[dtype] as FileDType));
  const { tensors, parameters, leftOut, weightsSha256 } = written;
  if (leftOut.length > 0) context.note(`Left out, as they carry no weights: ${leftOut.join(", ")}.`);
  if (!written.files.includes("tokenizer.json")) context.note(`${source} has no tokenizer.json, so ${out} has none.`);
  if (context.json) {
    context.printJson({ out, source, tensors, parameters, weights_sha256: weightsSha256, files: written.files });
  } else {
    context.print(`Wrote ${out} from ${source}: ${counted(tensors, "tensor")}, ${counted(parameters, "parameter")}.`);
  }
  return 0;
}

/** @throws UsageError when the target is the source; FormatError "folder_not_empty" */
async function requireTarget(files: Files, source: string, out: string, force: boolean): Promise<void> {
  if (files.absolute(source) === files.absolute(out)) {
    throw new UsageError(`${out} is the model to export.`, { do: "Name another folder." });
  }
  await requireEmptyFolder(files, out, force);
}
