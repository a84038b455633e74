import { useEffect, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { RunFault } from "../../schema/run_control.ts";
import type { TabHost } from "../tab/tab_host.ts";
import { faultOf } from "./backend.ts";
import { chosenFolder, type DroppedFolder, droppedFolder } from "./dropped_files.ts";
import { FaultNotice } from "./environment.tsx";
import type { Say } from "./texts.ts";

/** Offers bytes as a file to keep. */
function download(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Brings models into the browser's storage, and checkpoints out of it and back. */
export function ModelPage({ tab, say }: { tab: TabHost; say: Say }): JSX.Element {
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<RunFault | null>(null);
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
  const bring = (folder: DroppedFolder | Promise<DroppedFolder>): Promise<void> =>
    work(say("loading"), async () => {
      const { name, files } = await folder;
      if (files.length === 0) return say("model.noFolder");
      setNote(say("model.importing", { name }));
      const imported = await tab.importModel(name, files);
      const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
      return say("model.imported", { name: imported, files: files.length, size: (bytes / 1e6).toFixed(1) });
    });
  return (
    <>
      <h1>{say("model.title")}</h1>
      <p class="pg-lead">{say("model.lead")}</p>
      <p role="status">{note}</p>
      {fault && <FaultNotice fault={fault} say={say} />}
      <ImportModel say={say} busy={busy} bring={bring} />
      <Checkpoints say={say} busy={busy} tab={tab} work={work} />
    </>
  );
}

interface ImportProps {
  readonly say: Say;
  readonly busy: boolean;
  bring(folder: DroppedFolder | Promise<DroppedFolder>): Promise<void>;
}

function ImportModel({ say, busy, bring }: ImportProps): JSX.Element {
  const [over, setOver] = useState(false);
  return (
    <section class="pg-panel" aria-labelledby="pg-import">
      <h2 id="pg-import">{say("model.importTitle")}</h2>
      <section
        aria-label={say("model.drop")}
        class={over ? "pg-drop pg-over" : "pg-drop"}
        onDragOver={(event: DragEvent) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event: DragEvent) => {
          event.preventDefault();
          setOver(false);
          if (event.dataTransfer && !busy) void bring(droppedFolder(event.dataTransfer));
        }}
      >
        <p>{say("model.drop")}</p>
        <label class="pg-button">
          {say("model.choose")}
          <input
            class="pg-visually-hidden"
            type="file"
            disabled={busy}
            {...{ webkitdirectory: true }}
            onChange={(event: Event) => {
              const { files } = event.target as HTMLInputElement;
              if (files !== null && files.length > 0) void bring(chosenFolder(files));
            }}
          />
        </label>
      </section>
    </section>
  );
}

interface CheckpointProps {
  readonly say: Say;
  readonly busy: boolean;
  readonly tab: TabHost;
  work(doing: string, body: () => Promise<string>): Promise<void>;
}

/** Whether the run that is shown has a checkpoint, as far as is known; asked again whenever the run has changed. */
function useHasCheckpoint(tab: TabHost): boolean {
  const [has, setHas] = useState(false);
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

function Checkpoints({ say, busy, tab, work }: CheckpointProps): JSX.Element {
  const isKept = useHasCheckpoint(tab);
  const save = (): Promise<void> =>
    work(say("loading"), async () => {
      const { name, zip } = await tab.exportCheckpoint();
      download(name, new Blob([zip as Uint8Array<ArrayBuffer>], { type: "application/zip" }));
      return say("model.done", { name });
    });
  const bring = (file: File): Promise<void> =>
    work(say("model.importing", { name: file.name }), async () => {
      await tab.importCheckpoint(new Uint8Array(await file.arrayBuffer()));
      return say("model.done", { name: file.name });
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
        <label class="pg-button">
          {say("model.import")}
          <input
            class="pg-visually-hidden"
            type="file"
            accept=".zip,application/zip"
            disabled={busy}
            onChange={(event: Event) => {
              const file = (event.target as HTMLInputElement).files?.[0];
              if (file !== undefined) void bring(file);
            }}
          />
        </label>
      </div>
      {!isKept && (
        <p class="pg-hint" id="pg-no-checkpoint">
          {say("model.nothingKept")}
        </p>
      )}
      <p class="pg-hint">{say("model.exportHint")}</p>
      <p class="pg-hint">{say("model.importHint")}</p>
    </section>
  );
}
