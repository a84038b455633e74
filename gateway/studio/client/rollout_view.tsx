import { useMemo } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { GroupCredit } from "../../../src/schema/studio.ts";
import type { StudioRollout } from "../../../src/schema/studio_api.ts";
import { CallDetail } from "./call_detail.tsx";
import { CallList } from "./call_list.tsx";
import { useStudio } from "./context.ts";
import { Facts } from "./facts.tsx";
import { momentText, numberText } from "./format.ts";
import { useLiveState } from "./live_state.ts";
import { useLoaded } from "./loading.ts";
import { Notice } from "./notice.tsx";
import { RewardMark, StateMark } from "./rollout_columns.tsx";
import { hrefTo, type Route } from "./router.ts";
import type { TokenColoring } from "./token_colors.ts";
import { TreeView } from "./tree_view.tsx";

/** One rollout, call by call. */
export function RolloutView({ route }: { route: Route }): JSX.Element {
  const { api, say } = useStudio();
  const { id } = route;
  const concerns = ({ rollouts }: { rollouts: string[] }) => rollouts.includes(id);
  const loaded = useLoaded(id, () => api.rollout(id), concerns);
  // What is read first comes first: advantages and the tree follow the call that is open.
  const [isShown, setShown] = useLiveState(false);
  const group = isShown ? (loaded.value?.line.group ?? "") : "";
  const credit = useLoaded<GroupCredit | null>(
    `credit ${id} ${group}`,
    async () => (group === "" ? null : await api.group(group)),
    concerns,
  );
  const [coloring, setColoring] = useLiveState<TokenColoring>("logprob");
  const rollout = loaded.value;
  if (rollout === null) return <Notice loaded={loaded} />;
  const open = rollout.calls.some((call) => call.id === route.call) ? route.call : (rollout.calls[0]?.id ?? "");
  return (
    <section aria-labelledby="st-rollout-title">
      <Head rollout={rollout} credit={credit.value} />
      {rollout.calls.length === 0 ? (
        <p class="st-empty">{say("rollout.noCalls")}</p>
      ) : (
        <div class="st-rollout">
          <CallList calls={rollout.calls} open={open} />
          <CallDetail
            rollout={id}
            call={open}
            number={rollout.calls.findIndex((call) => call.id === open) + 1}
            advantage={credit.value?.calls[open] ?? null}
            forks={rollout.forks}
            coloring={coloring}
            onColoring={setColoring}
            onShown={() => setShown(true)}
          />
        </div>
      )}
      {isShown ? <Tree rollout={rollout} open={open} credit={credit.value} /> : null}
      <Traces rollout={rollout} />
    </section>
  );
}

function Tree({
  rollout,
  open,
  credit,
}: {
  rollout: StudioRollout;
  open: string;
  credit: GroupCredit | null;
}): JSX.Element | null {
  const advantages = useMemo(() => {
    const found = Object.entries(credit?.calls ?? {}).map(([call, value]) => {
      const mean = typeof value === "number" ? value : value.reduce((a, b) => a + b, 0) / Math.max(1, value.length);
      return [call, mean] as const;
    });
    return new Map(found);
  }, [credit]);
  if (rollout.calls.length === 0) return null;
  return <TreeView tree={rollout.tree} calls={rollout.calls} open={open} advantages={advantages} />;
}

function Head({ rollout, credit }: { rollout: StudioRollout; credit: GroupCredit | null }): JSX.Element {
  const { say, language } = useStudio();
  const { line } = rollout;
  const own = credit?.rollouts.find((one) => one.id === line.id);
  const facts: readonly (readonly [string, JSX.Element | string])[] = [
    [say("column.reward"), <RewardMark key="reward" reward={line.reward} language={language} />],
    [say("group.advantage"), own?.advantage == null ? "–" : numberText(own.advantage, language)],
    [
      say("column.group"),
      line.group === "" ? (
        "–"
      ) : (
        <a key="group" href={hrefTo(["groups", line.group])}>
          {line.group}
        </a>
      ),
    ],
    [say("column.update"), line.mode === "val" ? say("mode.val") : numberText(line.update, language)],
    [say("column.calls"), numberText(line.calls, language)],
    [say("column.tokens"), numberText(line.sampledTokens, language)],
    [say("column.breaks"), numberText(line.breaks, language)],
    [say("rollout.attempts"), numberText(line.attempts, language)],
    [say("column.changed"), momentText(line.updatedAt, language)],
  ];
  return (
    <header class="st-rollout-head">
      <div class="st-heading">
        <h2 id="st-rollout-title">{line.id}</h2>
        <StateMark state={line.state} say={say} />
        <span class="st-task">{line.task}</span>
      </div>
      {line.error === null ? null : <p class="st-error">{line.error}</p>}
      <Facts facts={facts} />
      <details class="st-more">
        <summary>{say("rollout.input")}</summary>
        <pre class="st-json">{JSON.stringify(rollout.input, null, 2)}</pre>
        <pre class="st-json">{JSON.stringify(rollout.metadata, null, 2)}</pre>
      </details>
    </header>
  );
}

/** Events and failed calls. */
function Traces({ rollout }: { rollout: StudioRollout }): JSX.Element | null {
  const { say, language } = useStudio();
  if (rollout.events.length === 0 && rollout.failures.length === 0) return null;
  return (
    <details class="st-more" open={rollout.failures.length > 0}>
      <summary>{say("rollout.events", { n: rollout.events.length + rollout.failures.length })}</summary>
      <table class="st-table">
        <thead>
          <tr>
            <th scope="col">{say("event.time")}</th>
            <th scope="col">{say("event.kind")}</th>
            <th scope="col">{say("event.attempt")}</th>
            <th scope="col">{say("event.data")}</th>
          </tr>
        </thead>
        <tbody>
          {rollout.events.map((event, i) => (
            <tr key={`e${i}`}>
              <td>{momentText(event.timestamp, language)}</td>
              <td>{event.event_type}</td>
              <td>{event.attempt_id}</td>
              <td>
                <code>{JSON.stringify(event.data)}</code>
              </td>
            </tr>
          ))}
          {rollout.failures.map((failure, i) => (
            <tr key={`f${i}`}>
              <td>{momentText(failure.timestamp, language)}</td>
              <td class="st-bad">{failure.code}</td>
              <td>{failure.attemptId}</td>
              <td>{failure.message}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
