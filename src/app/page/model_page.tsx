import { useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { ExperimentChoice, RunFault } from "../../schema/run_control.ts";
import { sizeText } from "../size_text.ts";
import type { TabHost } from "../tab/tab_host.ts";
import { faultOf } from "./backend.ts";
import { CheckpointPanel } from "./checkpoint_panel.tsx";
import { ConfirmDialog } from "./confirm_dialog.tsx";
import { DropArea, FileButton } from "./drop_area.tsx";
import type { DroppedFolder } from "./dropped_files.ts";
import { FaultNotice } from "./environment.tsx";
import { KeptPanel } from "./kept_panel.tsx";
import type { PanelProps } from "./panel_props.ts";
import { RunTransferPanel } from "./run_transfer_panel.tsx";
import type { Say } from "./texts.ts";

/** What the section of models is given. */
export interface ModelPageProps {
  readonly tab: TabHost;
  readonly say: Say;
  readonly choices: readonly ExperimentChoice[];
  /** Which runs can be continued may be different now. */
  refresh(): void;
}

/** Brings models into the browser's storage, takes checkpoints and runs out of it and back, and deletes them. */
export function ModelPage({ tab, say, choices, refresh }: ModelPageProps): JSX.Element {
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<RunFault | null>(null);
  const [version, setVersion] = useState(0);
  const work = async (doing: string, body: () => Promise<string>): Promise<void> => {
    setBusy(true);
    setFault(null);
    setNote(doing);
    try {
      setNote(await body());
    } catch (thrown) {
      setNote("");
      setFault(faultOf(thrown));
    }
    setBusy(false);
  };
  const changed = (): void => {
    setVersion((last) => last + 1);
    refresh();
  };
  const panel: PanelProps = { say, tab, busy, choices, version, work, changed };
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

function ImportModel({ say, busy, tab, work, changed }: PanelProps): JSX.Element {
  /** A model that waits for a yes, since another one has its name. */
  const [doubted, setDoubted] = useState<DroppedFolder | null>(null);
  const take = async ({ name, files }: DroppedFolder): Promise<string> => {
    const imported = await tab.importModel(name, files);
    changed();
    const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
    return say("model.imported", { name: imported, files: files.length, size: sizeText(bytes) });
  };
  const bring = (chosen: DroppedFolder | Promise<DroppedFolder>): Promise<void> =>
    work(say("loading"), async () => {
      const folder = await chosen;
      if (folder.files.length === 0) return say("model.noFolder");
      const { replaces } = await tab.arrivingModel(folder.name, folder.files);
      if (!replaces) return take(folder);
      setDoubted(folder);
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
            setDoubted(null);
            if (yes) void work(say("model.importing", { name: doubted.name }), () => take(doubted));
          }}
        />
      )}
    </section>
  );
}
