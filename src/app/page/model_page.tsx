import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { ExperimentChoice } from "../../schema/run_control.ts";
import { sizeText } from "../size_text.ts";
import type { TabHost } from "../tab/tab_host.ts";
import { CheckpointPanel } from "./checkpoint_panel.tsx";
import { ConfirmDialog } from "./confirm_dialog.tsx";
import { DropArea, FileButton } from "./drop_area.tsx";
import type { DroppedFile, DroppedFolder } from "./dropped_files.ts";
import { FaultNotice } from "./environment.tsx";
import { KeptPanel } from "./kept_panel.tsx";
import { useKeptValue } from "./kept_value.ts";
import type { ModelMemory } from "./model_memory.ts";
import type { PanelProps } from "./panel_props.ts";
import { RunTransferPanel } from "./run_transfer_panel.tsx";
import type { Say } from "./texts.ts";

/** What the section of models is given. */
export interface ModelPageProps {
  readonly tab: TabHost;
  readonly memory: ModelMemory;
  readonly say: Say;
  readonly choices: readonly ExperimentChoice[];
  /** Which runs can be continued may be different now. */
  refresh(): void;
}

/** Brings models into the browser's storage, takes checkpoints and runs out of it and back, and deletes them. */
export function ModelPage({ tab, memory, say, choices, refresh }: ModelPageProps): JSX.Element {
  const { note, busy, fault } = useKeptValue(memory.work);
  const version = useKeptValue(memory.version);
  const changed = (): void => {
    memory.version.set(memory.version.value + 1);
    refresh();
  };
  const work: PanelProps["work"] = (doing, body) => memory.run(doing, body);
  const panel: PanelProps = { say, tab, busy, choices, version, memory, work, changed };
  return (
    <>
      <h1>{say("model.title")}</h1>
      <p class="pg-lead">{say("model.lead")}</p>
      <p role="status">{note}</p>
      {fault && <FaultNotice fault={fault} say={say} />}
      <ImportModel {...panel} />
      <CheckpointPanel {...panel} />
      <RunTransferPanel {...panel} />
      <KeptPanel {...panel} />
    </>
  );
}

function ImportModel({ say, busy, tab, memory, work, changed }: PanelProps): JSX.Element {
  const doubted = useKeptValue(memory.doubtedModel);
  const take = async ({ name, files }: DroppedFolder): Promise<string> => {
    memory.note(say("model.importingFiles", { name, ...sumOf(files) }));
    const imported = await tab.importModel(name, files);
    changed();
    const isArchive = files.length === 1 && files[0]?.path.endsWith(".zip") === true;
    return say(isArchive ? "model.importedArchive" : "model.imported", { name: imported, ...sumOf(files) });
  };
  const bring = (chosen: DroppedFolder | Promise<DroppedFolder>): Promise<void> =>
    work(say("loading"), async () => {
      const folder = await chosen;
      if (folder.files.length === 0) return say("model.noFolder");
      memory.note(say("model.importingFiles", { name: folder.name, ...sumOf(folder.files) }));
      const { replaces } = await tab.arrivingModel(folder.name, folder.files);
      if (!replaces) return take(folder);
      memory.doubtedModel.set(folder);
      return "";
    });
  return (
    <section class="pg-panel" aria-labelledby="pg-import">
      <h2 id="pg-import">{say("model.importTitle")}</h2>
      <DropArea text={say("model.drop")} busy={busy} bring={bring}>
        <FileButton text={say("model.choose")} busy={busy} takes="folder" bring={bring} />
      </DropArea>
      {doubted && (
        <ConfirmDialog
          title={say("model.keptTitle", { name: doubted.name })}
          text={say("model.keptText")}
          yes={say("model.keptYes")}
          no={say("runs.leave")}
          answer={(yes) => {
            memory.doubtedModel.set(null);
            if (yes) void work(say("model.importing", { name: doubted.name }), () => take(doubted));
          }}
        />
      )}
    </section>
  );
}

/** How much a folder is, in words. */
function sumOf(files: readonly DroppedFile[]): { files: number; size: string } {
  return { files: files.length, size: sizeText(files.reduce((sum, { file }) => sum + file.size, 0)) };
}
