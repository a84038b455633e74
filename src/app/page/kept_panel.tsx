import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import type { RunFault } from "../../schema/run_control.ts";
import { sizeText } from "../size_text.ts";
import type { TabHost } from "../tab/tab_host.ts";
import type { KeptModel, KeptThings } from "../tab/tab_messages.ts";
import { faultOf } from "./backend.ts";
import { FaultNotice } from "./environment.tsx";
import { Deletion } from "./kept_deletion.tsx";
import { type KeptTableProps, RunTable } from "./kept_run_table.tsx";
import { browserStorage, type StorageFacts, storageFacts } from "./lasting_storage.ts";
import type { PanelProps } from "./panel_props.ts";
import { useTabStatus } from "./tab_status.ts";
import type { Say, TextKey } from "./texts.ts";

interface Kept {
  readonly things: KeptThings;
  readonly facts: StorageFacts;
}

/** What is kept, or why it cannot be read; null until that is known. */
type KeptState = Kept | { readonly fault: RunFault } | null;

/** What is kept, read again with `version` and `tries`, and when a run has come to another phase. */
function useKept(tab: TabHost, version: number, tries: number): KeptState {
  const [kept, setKept] = useLiveState<KeptState>(null);
  const { phase, experiment } = useTabStatus(tab);
  useEffect(() => {
    let left = false;
    Promise.all([tab.kept(), storageFacts(browserStorage())]).then(
      ([things, facts]) => left || setKept({ things, facts }),
      (thrown) => left || setKept({ fault: faultOf(thrown) }),
    );
    return () => {
      left = true;
    };
  }, [tab, version, tries, phase, experiment]);
  return kept;
}

/** Models and runs in the browser's storage: what they take, and how they are deleted. */
export function KeptPanel({ say, busy, tab, work, changed, version }: PanelProps): JSX.Element {
  const [tries, setTries] = useLiveState(0);
  const kept = useKept(tab, version, tries);
  const heading = useRef<HTMLHeadingElement>(null);
  const remove = async (name: string, body: () => Promise<void>): Promise<void> => {
    await work(say("loading"), async () => {
      await body();
      changed();
      return say("kept.deleted", { name });
    });
    // Its button is gone.
    heading.current?.focus();
  };
  return (
    <section class="pg-panel" aria-labelledby="pg-kept">
      <h2 id="pg-kept" ref={heading} tabindex={-1}>
        {say("kept.title")}
      </h2>
      {kept === null ? (
        <p>{say("loading")}</p>
      ) : "fault" in kept ? (
        <FaultNotice fault={kept.fault} say={say} retry={() => setTries((last) => last + 1)} />
      ) : (
        <>
          <StorageText kept={kept} say={say} />
          <ModelTable say={say} busy={busy} models={kept.things.models} tab={tab} remove={remove} />
          <RunTable say={say} busy={busy} runs={kept.things.runs} tab={tab} remove={remove} work={work} />
        </>
      )}
    </section>
  );
}

/** Why nothing is kept, by the scheme of the page's address. */
export function passingReason(protocol: string): TextKey {
  return protocol === "file:" ? "kept.memory" : "kept.blocked";
}

function StorageText({ kept: { things, facts }, say }: { kept: Kept; say: Say }): JSX.Element {
  if (!things.isDurable) return <p class="pg-hint">{say(passingReason(location.protocol))}</p>;
  const { isLasting, usedBytes, quotaBytes } = facts;
  return (
    <p class="pg-hint">
      {usedBytes !== null &&
        quotaBytes !== null &&
        `${say("kept.used", { used: sizeText(usedBytes), quota: sizeText(quotaBytes) })} `}
      {isLasting !== null && say(isLasting ? "kept.lasting" : "kept.passing")}
    </p>
  );
}

function ModelTable({
  say,
  busy,
  models,
  tab,
  remove,
}: KeptTableProps & { models: readonly KeptModel[] }): JSX.Element {
  if (models.length === 0) return <p>{say("kept.noModels")}</p>;
  return (
    <table class="pg-table">
      <caption>{say("kept.models")}</caption>
      <thead>
        <tr>
          <th scope="col">{say("kept.model")}</th>
          <th scope="col">{say("kept.path")}</th>
          <th scope="col">{say("kept.size")}</th>
          <td />
        </tr>
      </thead>
      <tbody>
        {models.map(({ name, path, sizeBytes, inUse }) => (
          <tr key={path}>
            <th scope="row">{name}</th>
            <td>
              <code>{path}</code>
            </td>
            <td>{sizeText(sizeBytes)}</td>
            <td>
              <Deletion
                {...{ say, busy, name, sizeBytes, inUse, id: path }}
                remove={() => remove(name, () => tab.deleteModel(name))}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
