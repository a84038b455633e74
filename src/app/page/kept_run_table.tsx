import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { sizeText } from "../size_text.ts";
import type { TabHost } from "../tab/tab_host.ts";
import type { KeptRun } from "../tab/tab_messages.ts";
import { experimentTitle } from "./experiment_text.ts";
import { Deletion } from "./kept_deletion.tsx";
import { offerDownload } from "./offer_download.ts";
import type { PanelProps } from "./panel_props.ts";
import type { Say } from "./texts.ts";

/** What the tables of kept things share. */
export interface KeptTableProps {
  readonly say: Say;
  readonly busy: boolean;
  readonly tab: TabHost;
  remove(name: string, body: () => Promise<void>): Promise<void>;
}

interface RunTableProps extends KeptTableProps {
  readonly runs: readonly KeptRun[];
  readonly work: PanelProps["work"];
}

function updatesOf(say: Say, { update, updates }: KeptRun): string {
  return update === null || updates === null ? say("kept.damaged") : say("kept.of", { update, updates });
}

/** Runs that are kept: how far they are, what they take, and how they are taken out and deleted. */
export function RunTable({ say, busy, runs, tab, remove, work }: RunTableProps): JSX.Element {
  const save = (experiment: string): Promise<void> =>
    work(say("loading"), async () => {
      const archive = await tab.exportRun(experiment);
      offerDownload(archive);
      return say("model.done", { name: archive.name });
    });
  if (runs.length === 0) return <p>{say("kept.noRuns")}</p>;
  return (
    <table class="pg-table">
      <caption>{say("kept.runs")}</caption>
      <thead>
        <tr>
          <th scope="col">{say("kept.run")}</th>
          <th scope="col">{say("kept.updates")}</th>
          <th scope="col">{say("kept.size")}</th>
          <td />
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => {
          const { experiment, sizeBytes, inUse, exportable } = run;
          const name = experimentTitle(say, experiment);
          return (
            <tr key={experiment}>
              <th scope="row">{name}</th>
              <td>{updatesOf(say, run)}</td>
              <td>{sizeText(sizeBytes)}</td>
              <td>
                <Export {...{ say, busy, name, exportable, id: experiment }} save={() => save(experiment)} />
                <Deletion
                  {...{ say, busy, name, sizeBytes, inUse, id: `run/${experiment}` }}
                  remove={() => remove(name, () => tab.deleteRun(experiment))}
                />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

interface ExportProps {
  readonly say: Say;
  readonly busy: boolean;
  readonly id: string;
  readonly name: string;
  readonly exportable: boolean;
  save(): Promise<void>;
}

/** Takes one run out; says why not while it is at work. */
function Export({ say, busy, id, name, exportable, save }: ExportProps): JSX.Element {
  const reason = `pg-at-work-${id}`;
  return (
    <>
      <button
        type="button"
        class="pg-button"
        disabled={busy || !exportable}
        aria-label={say("kept.exportOne", { name })}
        {...(exportable ? {} : { "aria-describedby": reason })}
        onClick={() => void save()}
      >
        {say("kept.export")}
      </button>
      {!exportable && (
        <p class="pg-hint" id={reason}>
          {say("kept.atWork")}
        </p>
      )}
    </>
  );
}
