import type { Clock } from "../core/clock.ts";
import { openDevice } from "../gpu/device.ts";
import type { DeviceOptions } from "../gpu/device_options.ts";
import type { DecodeText } from "../infer/stops.ts";
import { modelPlace } from "../io/adapter_base.ts";
import { ModelFolder } from "../io/model_folder.ts";
import { readTokenizerFiles, textFolder } from "../io/tokenizer_folder.ts";
import { memoryWeights } from "../model/memory_weights.ts";
import { Model } from "../model/model.ts";
import type { Decoder } from "../model/policy.ts";
import type { Files } from "../schema/files.ts";
import type { LoraConfig } from "../schema/lora.ts";
import type { ConstraintCompiler } from "../schema/token_constraint.ts";
import type { TokenizerFiles } from "../schema/tokenizer_files.ts";
import { Tokenizer } from "../text/tokenizer.ts";
import { adapterMoments, openAdapters } from "./adapter_files.ts";
import { criticMoments, openCriticModel } from "./critic_files.ts";
import type { EngineOptions } from "./engine_options.ts";
import type { ModelState } from "./engine_parts.ts";
import { parseEngineFaults } from "./faults.ts";
import { LocalEngine } from "./local_engine.ts";
import { ModelParts } from "./model_parts.ts";
import { openDecoder } from "./open_decoder.ts";
import { openValueHeads, valueHeadMoments } from "./value_head_files.ts";

/** What an engine needs of its platform. */
export interface EngineHost {
  readonly gpu: GPU;
  readonly files: Files;
  readonly clock: Clock;
  /** How the device is opened, besides what the options of the engine leave off. */
  readonly device?: DeviceOptions;
  /** What makes replies follow a grammar, for a tokenizer and the rows of a head; without it such requests are refused. */
  readonly constraints?: (files: () => Promise<TokenizerFiles>, vocabSize: number) => ConstraintCompiler;
}

/**
 * Opens an engine in this thread: device, model, optimizer.
 * @throws EnvironmentError "no_adapter"; FormatError for the model's files; LeydenError when memory does not suffice
 */
export async function openLocalEngine(host: EngineHost, asked: EngineOptions): Promise<LocalEngine> {
  const faults = parseEngineFaults(asked.faults);
  const options = await withAdapterFolder(host.files, asked);
  const folder = await ModelFolder.open(host.files, options.modelFolder);
  const text = await modelText(host.files, asked.modelFolder);
  return LocalEngine.open({
    open: (state) => openParts(host, options, folder, text, state),
    clock: host.clock,
    limits: { maxSequences: options.maxSequences, prefillTokens: options.prefillTokens, burst: options.burst },
    version: options.version,
    faults,
    policy: { inFlight: options.inFlight, stepsPerQuantum: options.stepsPerQuantum },
  });
}

/** Of an adapter whose folder says its own. */
const anyForm: LoraConfig = { rank: 1, alpha: 1, targets: "all-linear", rslora: false };

/**
 * A PEFT folder as the model means its base model with that adapter: the only one when none is asked for, else what the
 * first continues from if it has no folder of its own. A checkpoint of several means its base model with all of them.
 */
async function withAdapterFolder(files: Files, options: EngineOptions): Promise<EngineOptions> {
  const { base, lora, several } = await modelPlace(files, options.modelFolder);
  if (several.length > 0) {
    const all = several.map((name) => ({ name, folder: files.join(options.modelFolder, name), lora: anyForm }));
    return { ...options, modelFolder: base, adapters: options.adapters.length > 0 ? options.adapters : all };
  }
  if (lora === null) return options;
  const [first = { name: "policy", folder: "", lora }, ...others] = options.adapters;
  const folder = first.folder === "" ? options.modelFolder : first.folder;
  return { ...options, modelFolder: base, adapters: [{ ...first, folder }, ...others] };
}

async function openParts(
  host: EngineHost,
  options: EngineOptions,
  folder: ModelFolder,
  text: ModelText,
  state: ModelState | null,
): Promise<ModelParts> {
  const startMs = host.clock.monotonic();
  const device = await openDevice(host.gpu, {
    ...host.device,
    disable: [...options.disable, ...(host.device?.disable ?? [])],
  });
  const deviceMs = host.clock.monotonic() - startMs;
  try {
    const saved = state?.files["model.safetensors"];
    const source = saved === undefined ? folder : await memoryWeights("model.safetensors", saved);
    const type = options.adapters.length > 0 || !options.train ? options.weights : "f32";
    const model = await Model.load(device, folder.config, source, { type });
    const adapters = await openAdapters(host.files, model, options, state);
    const reference = await openReference(host.files, model, options);
    const critic = await openCriticModel(host.files, device, options, state);
    const valueHeads = await openValueHeads(host.files, model, options, state);
    const { decodeText, files } = text;
    const { vocabSize } = model.description;
    const constraints = files && host.constraints?.(files, vocabSize);
    const parts = new ModelParts({
      ...{ model, adapters, reference, critic, valueHeads, options, decodeText, constraints: constraints ?? undefined },
      clock: host.clock,
      basePath: host.files.absolute(options.modelFolder),
    });
    await restoreOptimizers(host.files, parts, options, state);
    const criticSaved = await criticMoments(host.files, options, state);
    if (criticSaved !== undefined) await parts.restoreCritic(criticSaved);
    await parts.restoreValueHeads(await valueHeadMoments(host.files, options, state));
    await device.idle();
    const modelMs = host.clock.monotonic() - startMs - deviceMs;
    parts.info = { ...parts.info, openSeconds: { device: deviceMs / 1000, model: modelMs / 1000 } };
    return parts;
  } catch (thrown) {
    device.close();
    throw thrown;
  }
}

/** The reference policy; the frozen model beside the adapters serves for it too, where that is its folder. */
async function openReference(files: Files, model: Model, options: EngineOptions): Promise<Decoder | null> {
  const { referenceFolder, modelFolder, adapters, weights: type } = options;
  if (referenceFolder === "") return null;
  const loaded = new Map(adapters.length > 0 ? [[files.absolute(modelFolder), model] as const] : []);
  return openDecoder(files, model.device, referenceFolder, { type, loaded });
}

async function restoreOptimizers(
  files: Files,
  parts: ModelParts,
  options: EngineOptions,
  state: ModelState | null,
): Promise<void> {
  for (const adapter of options.adapters) {
    const moments = await adapterMoments(files, options, adapter, state);
    if (moments !== undefined) await parts.restoreOptimizer(moments, adapter.name);
  }
  if (options.adapters.length > 0) return;
  const moments = state === null ? await savedMoments(files, options) : state.files["optimizer.safetensors"];
  if (moments !== undefined) await parts.restoreOptimizer(moments);
}

async function savedMoments(files: Files, { optimizerFolder }: EngineOptions): Promise<Uint8Array | undefined> {
  return optimizerFolder === "" ? undefined : files.read(files.join(optimizerFolder, "optimizer.safetensors"));
}

/** How sampled ids are text. */
interface ModelText {
  readonly decodeText: DecodeText;
  /** The tokenizer's files once more, for what is made of them later; null where there are none. */
  readonly files: (() => Promise<TokenizerFiles>) | null;
}

/** A model without a tokenizer is asked by ids alone. */
async function modelText(files: Files, folder: string): Promise<ModelText> {
  if (!(await files.exists(files.join(await textFolder(files, folder), "tokenizer.json")))) {
    return { decodeText: () => "", files: null };
  }
  const read = () => readTokenizerFiles(files, folder);
  const tokenizer = Tokenizer.load(await read());
  return { decodeText: (ids) => tokenizer.decode(ids, { continuation: true }), files: read };
}
