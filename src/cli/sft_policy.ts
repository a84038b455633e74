import { adapterCheckpoint, openAdapters } from "../engine/adapter_files.ts";
import { oneModelPlace } from "../io/adapter_base.ts";
import { ModelFolder } from "../io/model_folder.ts";
import { AdaptedModel } from "../model/lora/adapted_model.ts";
import type { Adapter } from "../model/lora/adapter.ts";
import { Model } from "../model/model.ts";
import type { WeightType } from "../model/parameter_layout.ts";
import type { Policy } from "../model/policy.ts";
import { type Args, UsageError } from "./args.ts";
import type { CommandContext } from "./command.ts";
import { openMerged } from "./merged_weights.ts";
import { readModelConfig } from "./model_place.ts";
import { openHostDevice } from "./open_device.ts";

/** What a supervised training trains, and how it is saved. */
export interface SftPolicy {
  readonly model: Model;
  /** Null when the model's own weights are trained. */
  readonly adapter: Adapter | null;
  readonly policy: Policy;
  /** Writes what was trained: a model folder, or a PEFT folder. */
  save(out: string): Promise<void>;
  sha256(): Promise<string>;
}

/** Refuses options that do not go together, before anything is read. @throws UsageError */
export function checkSftOptions(args: Args): void {
  const rank = args.number("lora-rank");
  if (rank === undefined && args.text("weights") !== undefined) {
    throw new UsageError("--weights holds frozen weights; without --lora-rank all are trained.", {
      do: "Pass --lora-rank R, or leave --weights out.",
    });
  }
  if (rank !== undefined && args.flag("init")) {
    throw new UsageError(
      "--init and --lora-rank do not go together: nobody has the random weights the adapter is for.",
      {
        do: "Leave one of them out.",
      },
    );
  }
}

/**
 * The folder's weights, or random ones under its config.json, or with --lora-rank an adapter beside frozen ones: a fresh
 * one, or the PEFT folder's own, which goes on. @throws FormatError of the folder
 */
export function openSftPolicy(context: CommandContext, folder: string, seed: number): Promise<SftPolicy> {
  const rank = context.args.number("lora-rank");
  return rank === undefined ? openWhole(context, folder, seed) : openAdapter(context, folder, seed, rank);
}

async function openWhole({ args, platform }: CommandContext, folder: string, seed: number): Promise<SftPolicy> {
  const { files } = platform;
  const source = args.flag("init") ? null : await openMerged(files, folder);
  const config = source?.config ?? (await readModelConfig(files, folder));
  const device = await openHostDevice(platform);
  const std = { std: args.number("std"), embeddingStd: args.number("embedding-std") };
  const model =
    source === null ? Model.initialize(device, config, { seed, ...std }) : await Model.load(device, config, source);
  return { model, adapter: null, policy: model, save: (out) => model.save(files, out), sha256: () => model.sha256() };
}

async function openAdapter(
  { args, platform }: CommandContext,
  folder: string,
  seed: number,
  rank: number,
): Promise<SftPolicy> {
  const { files } = platform;
  const { base } = await oneModelPlace(files, folder);
  const source = await ModelFolder.open(files, base);
  const device = await openHostDevice(platform);
  const type = (args.text("weights") ?? "f32") as WeightType;
  const model = await Model.load(device, source.config, source, { type });
  const targets = args.list("lora-target");
  const lora = {
    rank,
    alpha: args.number("lora-alpha") ?? 2 * rank,
    targets: targets.length === 0 ? ("all-linear" as const) : targets,
    rslora: false,
  };
  const [adapter] = await openAdapters(files, model, { adapters: [{ name: "policy", folder, lora }], seed }, null);
  const own = adapter as Adapter;
  const transposed = model.description.weightLayout === "in_out";
  const saved = () =>
    adapterCheckpoint([{ adapter: own, optimizer: null }], { base: files.absolute(base), transposed });
  return {
    model,
    adapter: own,
    policy: new AdaptedModel(model, own),
    save: async (out) => {
      for (const [name, bytes] of Object.entries((await saved()).files))
        await files.write(files.join(out, name), bytes);
    },
    sha256: async () => (await saved()).weightsSha256,
  };
}
