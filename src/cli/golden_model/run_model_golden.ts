import type { Clock } from "../../core/clock.ts";
import { FormatError } from "../../core/errors.ts";
import type { Device } from "../../gpu/device.ts";
import type { HfConfig } from "../../io/hf_config.ts";
import type { WeightSource } from "../../model/load_weights.ts";
import { Model } from "../../model/model.ts";
import { Trainer } from "../../train/trainer.ts";
import { decodeNumbers } from "../golden_rl/compare.ts";
import { type GoldenRow, parseGolden } from "../golden_rl/golden_file.ts";
import { absoluteDeviation, goldenRow, uncheckedRow } from "./comparison.ts";
import { forwardChecks, greedyChecks, scoreChecks } from "./forward_checks.ts";
import type { GoldenRun } from "./golden_run.ts";
import { fullLossChecks, ppoChecks, sftChecks } from "./gradient_checks.ts";
import { modelGoldenSchema, unreadKeys } from "./model_golden.ts";
import { adamwChecks } from "./optimizer_checks.ts";

/** A golden model folder, read. */
export interface ModelGoldenItem {
  /** Name of the folder in the report. */
  readonly file: string;
  readonly config: HfConfig;
  readonly weights: WeightSource;
  /** Parsed golden.json. */
  readonly golden: unknown;
}

/** The checks in order; the last ones change the model. */
const checks: readonly ((run: GoldenRun) => Promise<GoldenRow[]>)[] = [
  forwardChecks,
  scoreChecks,
  ppoChecks,
  fullLossChecks,
  sftChecks,
  greedyChecks,
  adamwChecks,
];

/**
 * Checks a golden model on a device: a row per expectation, and a row with pass null for each that nothing reads. A
 * family or option that is not supported is one such row.
 * @throws FormatError "golden_format", or the loader's for weights that do not fit
 */
export async function runModelGolden(device: Device, clock: Clock, item: ModelGoldenItem): Promise<GoldenRow[]> {
  const { file } = item;
  const golden = parseGolden(modelGoldenSchema, decodeNumbers(item.golden), `${file}/golden.json`);
  let model: Model;
  try {
    model = await Model.load(device, item.config, item.weights);
  } catch (error) {
    if (error instanceof FormatError && error.code === "model_unsupported") {
      return [uncheckedRow(file, "model", error.message)];
    }
    throw error;
  }
  const trainer = new Trainer(model, { microBatchTokens: golden.input_ids.length, clock });
  try {
    const rows: GoldenRow[] = [];
    if (golden.n_params !== undefined) {
      const count = absoluteDeviation([model.parameters.layout.count], [golden.n_params], "parameters");
      rows.push(goldenRow(file, "n_params", count, 0));
    }
    for (const check of checks) rows.push(...(await check({ file, golden, model, trainer })));
    const unread = unreadKeys(item.golden as Record<string, unknown>);
    return [...rows, ...unread.map((key) => uncheckedRow(file, key, "not run"))];
  } finally {
    trainer.dispose();
    model.dispose();
  }
}
