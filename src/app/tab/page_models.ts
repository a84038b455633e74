import { FormatError } from "../../core/errors.ts";
import type { Files } from "../../schema/files.ts";
import {
  type PageAssetFacts,
  type PageAssetList,
  type PageAssets,
  pageAssetListPath,
} from "../../schema/page_assets.ts";
import { initModel } from "../init_model.ts";
import { readAsset } from "../page_assets.ts";
import type { TabExperiment } from "./experiments.ts";

/** Brings the model of an experiment into a folder. @throws FormatError, EnvironmentError as `keepPageModel` */
export async function keepExperimentModel(
  files: Files,
  assets: PageAssets,
  { model, preset }: TabExperiment,
  folder: string,
): Promise<void> {
  if (preset === undefined) {
    await keepPageModel(files, assets, model, folder);
    return;
  }
  const tokenizer = `${folder}_tokenizer`;
  await keepPageModel(files, assets, model, tokenizer);
  if (await files.exists(files.join(folder, "config.json"))) return;
  await initModel(files, { preset, tokenizer, out: folder, init: { seed: 1 } });
}

/** What was kept of a model, and as which version of the page's file. */
type KeptFiles = Readonly<Record<string, PageAssetFacts>>;

const noteName = "page_files.json";

async function assetsBelow(
  assets: PageAssets,
  folder: string,
): Promise<[name: string, facts: PageAssetFacts | null][]> {
  const prefix = `${folder}/`;
  const inside = <T>([path, facts]: [string, T]): [string, T][] =>
    path.startsWith(prefix) ? [[path.slice(prefix.length), facts]] : [];
  if (assets.kind === "embedded") {
    return Object.keys(assets.files).flatMap((path) => inside<PageAssetFacts | null>([path, null]));
  }
  const list = new TextDecoder().decode(await readAsset(assets, pageAssetListPath));
  return Object.entries(JSON.parse(list) as PageAssetList).flatMap(inside);
}

async function keptFiles(files: Files, note: string): Promise<KeptFiles> {
  if (!(await files.exists(note))) return {};
  try {
    return JSON.parse(await files.readText(note)) as KeptFiles;
  } catch {
    // A torn note: everything is fetched again.
    return {};
  }
}

/**
 * Brings a model that comes with the page into a folder, where it stays: only files that the page has another version of
 * are loaded again.
 * @throws FormatError "file_missing" when the page has no such model; EnvironmentError "page_unreachable", "disk_full"
 */
export async function keepPageModel(files: Files, assets: PageAssets, name: string, folder: string): Promise<void> {
  const wanted = await assetsBelow(assets, `models/${name}`);
  if (wanted.length === 0) {
    throw new FormatError("file_missing", `The page has no model ${name}.`, { do: "Build the page again." });
  }
  const note = files.join(folder, noteName);
  const kept = await keptFiles(files, note);
  const now: Record<string, PageAssetFacts> = {};
  for (const [path, facts] of wanted) {
    const target = files.join(folder, path);
    const isKept = facts !== null && kept[path]?.sha256 === facts.sha256 && (await files.exists(target));
    if (!isKept) await files.write(target, await readAsset(assets, `models/${name}/${path}`));
    if (facts !== null) now[path] = facts;
  }
  await files.write(note, JSON.stringify(now));
}
