import { useEffect } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import type { TabHost } from "../tab/tab_host.ts";
import { ConfirmDialog } from "./confirm_dialog.tsx";
import { FileButton } from "./drop_area.tsx";
import type { DroppedFolder } from "./dropped_files.ts";
import { experimentTitle } from "./experiment_text.ts";
import { useKeptValue } from "./kept_value.ts";
import { offerDownload } from "./offer_download.ts";
import type { PanelProps } from "./panel_props.ts";

/** Whether the run that is shown has a checkpoint, as far as is known; asked again whenever the run has changed. */
function useHasCheckpoint(tab: TabHost): boolean {
  const [has, setHas] = useLiveState(false);
  useEffect(() => {
    let left = false;
    const look = (): void => {
      tab.hasCheckpoint().then(
        (found) => left || setHas(found),
        // The tab is closed: it says so itself.
        () => {},
      );
    };
    look();
    const stop = tab.onEvent(({ kind }) => void (kind === "status" && look()));
    return () => {
      left = true;
      stop();
    };
  }, [tab]);
  return has;
}

/** Takes the newest checkpoint out of the tab, and brings one in. */
export function CheckpointPanel({ say, busy, tab, memory, work, changed }: PanelProps): JSX.Element {
  const isKept = useHasCheckpoint(tab);
  const doubted = useKeptValue(memory.doubtedCheckpoint);
  const save = (): Promise<void> =>
    work(say("loading"), async () => {
      const archive = await tab.exportCheckpoint();
      offerDownload(archive);
      return say("model.done", { name: archive.name });
    });
  const take = async (name: string, zip: Uint8Array): Promise<string> => {
    await tab.importCheckpoint(zip);
    changed();
    return say("model.done", { name });
  };
  const bring = (chosen: DroppedFolder | Promise<DroppedFolder>): Promise<void> =>
    work(say("loading"), async () => {
      const [only] = (await chosen).files;
      if (only === undefined) return say("model.noFolder");
      const zip = new Uint8Array(await only.file.arrayBuffer());
      const { experiment, update, replaces } = await tab.arrivingCheckpoint(zip);
      if (!replaces) return take(only.path, zip);
      memory.doubtedCheckpoint.set({ name: only.path, zip, update, experiment });
      return "";
    });
  return (
    <section class="pg-panel" aria-labelledby="pg-checkpoints">
      <h2 id="pg-checkpoints">{say("model.checkpointTitle")}</h2>
      <div class="pg-buttons">
        <button
          type="button"
          class="pg-button pg-primary"
          disabled={busy || !isKept}
          {...(isKept ? {} : { "aria-describedby": "pg-no-checkpoint" })}
          onClick={() => void save()}
        >
          {say("model.export")}
        </button>
        <FileButton text={say("model.import")} busy={busy} takes="zip" bring={bring} />
      </div>
      {!isKept && (
        <p class="pg-hint" id="pg-no-checkpoint">
          {say("model.nothingKept")}
        </p>
      )}
      <p class="pg-hint">{say("model.exportHint")}</p>
      <p class="pg-hint">{say("model.importHint")}</p>
      {doubted && (
        <ConfirmDialog
          title={say("model.replaceTitle", {
            title: experimentTitle(say, doubted.experiment),
            update: doubted.update,
          })}
          text={say("runs.replaces")}
          yes={say("runs.replace")}
          no={say("runs.leave")}
          answer={(yes) => {
            memory.doubtedCheckpoint.set(null);
            if (yes) void work(say("loading"), () => take(doubted.name, doubted.zip));
          }}
        />
      )}
    </section>
  );
}
