import type { GatewayDeps } from "../../../gateway/deps.ts";
import { RunView } from "../../experiment/run_view.ts";
import type { Engine } from "../../schema/engine.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { RunControl } from "../../schema/run_control.ts";
import type { Store } from "../../schema/store.ts";
import type { TokenBytes } from "../session/session_options.ts";
import type { TabExperiment } from "./experiments.ts";
import type { TabParts } from "./tab_parts.ts";
import { runFolderOf } from "./tab_places.ts";

/** What the gateway shows of a run; `control` steers the tab. */
export function runParts(
  { platform, page }: TabParts,
  control: RunControl,
  { id, title }: TabExperiment,
  config: ExperimentConfig,
): (store: Store, engine?: Engine, tokenBytes?: TokenBytes) => Pick<GatewayDeps, "control" | "page" | "studio"> {
  const view = { files: platform.files, runFolder: runFolderOf(id), name: title, config };
  return (store, _engine, tokenBytes) => {
    const spelled = tokenBytes === undefined ? {} : { tokenBytes };
    return { control, page, studio: new RunView({ ...view, ...spelled, store }) };
  };
}
