import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import { type ExperimentChoice, isAlive, isExportable, type RunStatus } from "../../schema/run_control.ts";
import { DropArea, FileButton } from "./drop_area.tsx";
import type { DroppedFolder } from "./dropped_files.ts";
import { experimentText } from "./experiment_text.ts";
import { useKeptValue } from "./kept_value.ts";
import type { Arrival } from "./model_memory.ts";
import { offerDownload } from "./offer_download.ts";
import type { PanelProps } from "./panel_props.ts";
import { useTabStatus } from "./tab_status.ts";
import type { Say, TextKey } from "./texts.ts";

/** Why the run that is shown cannot be taken out; null when it can. */
function obstacleOf({ phase, experiment }: RunStatus): TextKey | null {
  if (experiment === "") return "runs.nothing";
  return isExportable(phase) ? null : "runs.atWork";
}

/** Takes a whole run out of the tab, and brings one in, such as `leyden train` makes it. */
export function RunTransferPanel({ say, busy, tab, memory, work, changed, choices }: PanelProps): JSX.Element {
  const status = useTabStatus(tab);
  const arrival = useKeptValue(memory.arrival);
  const heading = useRef<HTMLHeadingElement>(null);
  const save = (): Promise<void> =>
    work(say("loading"), async () => {
      const archive = await tab.exportRun();
      offerDownload(archive);
      return say("model.done", { name: archive.name });
    });
  const look = (chosen: DroppedFolder | Promise<DroppedFolder>): Promise<void> => {
    memory.arrival.set(null);
    return work(say("loading"), async () => {
      const folder = await chosen;
      if (folder.files.length === 0) return say("model.noFolder");
      memory.arrival.set({ folder, run: await tab.arrivingRun(folder.files) });
      return "";
    });
  };
  const take = async ({ folder, run }: Arrival, choice: ExperimentChoice): Promise<void> => {
    await work(say("model.importing", { name: folder.name }), async () => {
      await tab.importRun(choice.id, folder.files);
      memory.arrival.set(null);
      changed();
      return say("runs.imported", { title: experimentText(say, choice, "title"), update: run.update });
    });
    // Its button is gone, or was closed meanwhile.
    heading.current?.focus();
  };
  const leave = (): void => {
    memory.arrival.set(null);
    heading.current?.focus();
  };
  const isClosed = busy || isAlive(status.phase);
  return (
    <section class="pg-panel" aria-labelledby="pg-runs">
      <h2 id="pg-runs" ref={heading} tabindex={-1}>
        {say("runs.title")}
      </h2>
      <p class="pg-hint">{say("runs.lead")}</p>
      <ExportRun say={say} busy={busy} obstacle={obstacleOf(status)} save={save} />
      <DropArea text={say("runs.drop")} busy={isClosed} bring={look}>
        <div class="pg-buttons pg-centred">
          <FileButton text={say("runs.import")} busy={isClosed} takes="zip" bring={look} />
          <FileButton text={say("runs.choose")} busy={isClosed} takes="folder" bring={look} />
        </div>
      </DropArea>
      <p class="pg-hint">{say("runs.importHint")}</p>
      {arrival !== null && (
        <ArrivalForm
          key={arrival.folder.name}
          say={say}
          busy={isClosed}
          arrival={arrival}
          choices={choices}
          take={(choice) => take(arrival, choice)}
          leave={leave}
        />
      )}
    </section>
  );
}

interface ExportProps {
  readonly say: Say;
  readonly busy: boolean;
  readonly obstacle: TextKey | null;
  save(): Promise<void>;
}

function ExportRun({ say, busy, obstacle, save }: ExportProps): JSX.Element {
  return (
    <>
      <div class="pg-buttons">
        <button
          type="button"
          class="pg-button pg-primary"
          disabled={busy || obstacle !== null}
          {...(obstacle === null ? {} : { "aria-describedby": "pg-no-run-export" })}
          onClick={() => void save()}
        >
          {say("runs.export")}
        </button>
      </div>
      {obstacle !== null && (
        <p class="pg-hint" id="pg-no-run-export">
          {say(obstacle)}
        </p>
      )}
      <p class="pg-hint">{say("runs.exportHint")}</p>
    </>
  );
}

interface ArrivalProps {
  readonly say: Say;
  readonly busy: boolean;
  readonly arrival: Arrival;
  readonly choices: readonly ExperimentChoice[];
  take(choice: ExperimentChoice): Promise<void>;
  leave(): void;
}

/** Says what was brought, and asks what it goes on as. */
function ArrivalForm({ say, busy, arrival, choices, take, leave }: ArrivalProps): JSX.Element {
  const { folder, run } = arrival;
  const [chosen, setChosen] = useLiveState(run.experiment ?? "");
  const choice = choices.find(({ id }) => id === chosen);
  const replaces = run.kept.includes(chosen);
  const select = useRef<HTMLSelectElement>(null);
  useEffect(() => select.current?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (choice !== undefined) void take(choice);
  };
  const { name } = folder;
  return (
    <form class="pg-notice pg-info" onSubmit={submit}>
      <p id="pg-run-found">{say("runs.found", { name, update: run.update, updates: run.updates })}</p>
      {run.experiment === null && <p id="pg-run-unknown">{say("runs.unknown")}</p>}
      <label class="pg-field">
        <span class="pg-label">{say("runs.experiment")}</span>
        <select
          ref={select}
          class="pg-input"
          required
          aria-describedby="pg-run-found pg-run-unknown pg-run-replaces"
          onChange={(event: Event) => setChosen((event.target as HTMLSelectElement).value)}
        >
          {run.experiment === null && <option value="">{say("runs.unchosen")}</option>}
          {choices.map((offered) => (
            <option key={offered.id} value={offered.id} selected={offered.id === chosen}>
              {experimentText(say, offered, "title")}
            </option>
          ))}
        </select>
      </label>
      <div id="pg-run-replaces" role="status">
        {replaces && <p>{say("runs.replaces")}</p>}
      </div>
      <div class="pg-buttons">
        <button type="submit" class="pg-button pg-primary" disabled={busy || choice === undefined}>
          {say(replaces ? "runs.replace" : "runs.take")}
        </button>
        <button type="button" class="pg-button" onClick={leave}>
          {say("runs.leave")}
        </button>
      </div>
    </form>
  );
}
