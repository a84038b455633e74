import type { Clock } from "../core/clock.ts";
import type { Device } from "../gpu/device.ts";
import { readJson } from "../io/json_file.ts";
import { ModelFolder } from "../io/model_folder.ts";
import type { Files } from "../schema/files.ts";
import { uncheckedRow } from "./golden_model/comparison.ts";
import { runModelGolden } from "./golden_model/run_model_golden.ts";
import type { GoldenItem } from "./golden_paths.ts";
import type { GoldenRow } from "./golden_rl/golden_file.ts";
import { runMergeGolden, runRlGolden } from "./golden_rl.ts";

/** What the checks run on; the device is opened only when a model is among them. */
export interface GoldenGround {
  readonly files: Files;
  readonly clock: Clock;
  device(): Promise<Device>;
}

/** Runs every check of one item. @throws FormatError for a file that is not what it says it is */
export async function runGoldenItem(ground: GoldenGround, item: GoldenItem): Promise<GoldenRow[]> {
  if (item.kind === "json") return runJson(await readJson(ground.files, item.path), item.file);
  const { files, clock } = ground;
  const golden = await readJson(files, files.join(item.path, "golden.json"));
  const weights = await ModelFolder.open(files, item.path);
  return runModelGolden(await ground.device(), clock, { file: item.file, config: weights.config, weights, golden });
}

/** A JSON file by the format it states. */
function runJson(json: unknown, file: string): GoldenRow[] {
  const format = (json as { format?: unknown } | null)?.format;
  if (typeof format === "string" && format.includes("merge")) return runMergeGolden(json, file);
  if (typeof format === "string" && format.startsWith("agl-golden")) return runRlGolden(json, file);
  return [uncheckedRow(file, "format", `It states the format ${JSON.stringify(format)}, which no check reads.`)];
}
