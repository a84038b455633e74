import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { type ControlRequest, idleRun, type RunFault } from "../../schema/run_control.ts";
import type { PageBackend } from "./backend.ts";
import { ChatPanel } from "./chat_panel.tsx";
import { ControlPanel } from "./control_panel.tsx";
import { FaultNotice } from "./environment.tsx";
import { Progress } from "./progress.tsx";
import type { RelayState } from "./relay_client.ts";
import { RelayPanel } from "./relay_panel.tsx";
import { updateOfVersion } from "./reply_update.ts";
import type { RunFeed, RunView } from "./run_feed.ts";
import type { RunMemory } from "./run_memory.ts";
import { isContinuable } from "./run_offers.ts";
import { SaidLines } from "./said_lines.tsx";
import type { Say } from "./texts.ts";

/** What the section of the run is made of. */
export interface RunPageProps {
  readonly backend: PageBackend;
  readonly feed: RunFeed;
  readonly view: RunView;
  /** Null where no relay sent the page. */
  readonly relay: RelayState | null;
  readonly memory: RunMemory;
  readonly say: Say;
}

/** The run: what to train, how far it is, and a talk with its model. */
export function RunPage({ backend, feed, view, relay, memory, say }: RunPageProps): JSX.Element {
  const status = view.status ?? idleRun;
  const isTab = backend.kind === "tab";
  const isSteered = view.run?.can.control !== false;
  const served = isSteered
    ? (["run.servedTitle", "run.servedLead"] as const)
    : (["serve.title", "serve.lead"] as const);
  const [title, lead] = isTab ? (["run.title", "run.lead"] as const) : served;
  return (
    <>
      <h1>{say(title)}</h1>
      <p class="pg-lead">{say(lead)}</p>
      {relay && <RelayPanel state={relay} say={say} />}
      {view.fault && <FaultNotice fault={view.fault} say={say} />}
      {status.error && <FaultNotice fault={status.error} say={say} />}
      {view.isKnown ? (
        <KnownRun {...{ backend, feed, view, memory, say }} />
      ) : (
        // What it is as long as nothing is wrong: then the fault says why.
        view.fault === null && <p role="status">{say(isTab ? "run.loading" : "loading")}</p>
      )}
    </>
  );
}

/** What may be started, how far the run is, and a talk with its model. */
function KnownRun({ backend, feed, view, memory, say }: Omit<RunPageProps, "relay">): JSX.Element {
  const status = view.status ?? idleRun;
  const control = (request: ControlRequest): Promise<RunFault | null> => feed.control(request);
  const isSteered = view.run?.can.control !== false;
  // A model that is served without a run answers whatever the status.
  const isOpen = !isSteered || status.modelOpen;
  return (
    <div class={view.choices.length > 0 ? "pg-columns" : ""}>
      {view.choices.length > 0 && (
        <div>
          <ControlPanel say={say} status={status} choices={view.choices} control={control} memory={memory} />
        </div>
      )}
      <div>
        {isSteered && <Progress status={status} lines={view.lines} say={say} control={control} />}
        {(view.lines.length > 0 || !isSteered) && (
          <p>
            <a href="#/">{say("run.openStudio")}</a>
          </p>
        )}
        <ChatPanel
          backend={backend}
          open={isOpen}
          lead={isOpen ? "chat.lead" : isContinuable(status, view.choices) ? "chat.continue" : "chat.closed"}
          model={view.run?.models[0] ?? ""}
          updateOf={(version) => (isSteered ? answeredUpdate(feed.view(), version) : null)}
          memory={memory}
          say={say}
        />
        {backend.tab !== null && <SaidLines tab={backend.tab} say={say} />}
      </div>
    </div>
  );
}

/** The update after which the model gave an answer, by what is known when the answer is there. */
function answeredUpdate({ status, lines }: RunView, version: number | null): number {
  const known = status ?? idleRun;
  return version === null ? known.update : updateOfVersion(version, known, lines);
}
