import { useEffect } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { StudioCall, StudioFork } from "../../../src/schema/studio_api.ts";
import { breakText } from "./call_list.tsx";
import { CallTokens } from "./call_tokens.tsx";
import { useStudio } from "./context.ts";
import { Facts } from "./facts.tsx";
import { ForkPanel, forkObstacle } from "./fork_panel.tsx";
import { durationText, momentText, numberText } from "./format.ts";
import { useLiveState } from "./live_state.ts";
import { useLoaded } from "./loading.ts";
import { contentText, Message } from "./message_view.tsx";
import { Notice } from "./notice.tsx";
import type { TokenColoring } from "./token_colors.ts";

export interface CallDetailProps {
  readonly rollout: string;
  readonly call: string;
  /** Number in the list. */
  readonly number: number;
  readonly advantage: number | readonly number[] | null;
  readonly forks: readonly StudioFork[];
  readonly coloring: TokenColoring;
  onColoring(coloring: TokenColoring): void;
  /** Called once there is something to read. */
  onShown(): void;
}

/** One call: its tokens, what was said and delivered, its settings, and asking it again. */
export function CallDetail(props: CallDetailProps): JSX.Element {
  const { api, run, say } = useStudio();
  const { rollout, call: id, number } = props;
  const [whole, setWhole] = useLiveState("");
  const [branch, setBranch] = useLiveState<{ call: string; keep: number } | null>(null);
  const loaded = useLoaded(`${id} ${whole === id}`, () => api.call(rollout, id, whole === id));
  const call = loaded.value;
  useEffect(() => {
    if (call !== null) props.onShown();
  }, [call === null]);
  if (call === null) return <Notice loaded={loaded} />;
  const obstacle = forkObstacle(api, run, call);
  return (
    <article class="st-call" aria-labelledby="st-call-title">
      <h3 id="st-call-title">
        {say("call.title", { n: number })} <small>{call.id}</small>
      </h3>
      <CallFacts call={call} />
      <CallTokens
        call={call}
        advantage={props.advantage}
        coloring={props.coloring}
        onColoring={props.onColoring}
        onWhole={() => setWhole(id)}
        {...(obstacle === null
          ? { onBranch: (at: number) => setBranch({ call: id, keep: call.promptTokens + at + 1 }) }
          : {})}
      />
      <Delivered call={call} />
      <ForkPanel
        key={`${id} ${branch?.call === id ? branch.keep : ""}`}
        call={call}
        obstacle={obstacle}
        keep={branch?.call === id ? branch.keep : null}
        forks={props.forks.filter((fork) => fork.call === id)}
      />
      <details class="st-more">
        <summary>{say("call.conversation", { n: call.messages.length })}</summary>
        {call.messages.map((message, i) => (
          <Message key={`${i}`} message={message} />
        ))}
      </details>
      <details class="st-more">
        <summary>{say("call.settings")}</summary>
        <pre class="st-json">{JSON.stringify({ sampling: call.sampling, overridden: call.overridden }, null, 2)}</pre>
      </details>
    </article>
  );
}

function CallFacts({ call }: { call: StudioCall }): JSX.Element {
  const { say, language } = useStudio();
  const versions =
    call.versions === null
      ? "–"
      : call.versions[0] === call.versions[1]
        ? String(call.versions[0])
        : call.versions.join("–");
  const facts: readonly (readonly [string, string])[] = [
    [say("fact.model"), `${call.policy}${call.own ? "" : ` (${call.endpoint})`}`],
    [say("fact.dialect"), call.dialect],
    [say("fact.attempt"), call.attempt],
    [say("fact.lineage"), String(call.lineage)],
    [say("fact.prefix"), numberText(call.prefix, language)],
    [say("fact.versions"), versions],
    [say("fact.logprob"), numberText(call.meanLogprob, language)],
    [say("fact.finish"), call.finishReason ?? "–"],
    [say("fact.delivery"), say(`delivery.${call.delivery}`)],
    [say("fact.latency"), durationText(call.latencyMs / 1000, language)],
    [say("fact.time"), momentText(call.timestamp, language)],
  ];
  return (
    <div>
      {call.break === null ? null : (
        <p class="st-break">
          <b>{breakText(call, say)}</b> {say(`break.${call.break}.why`)}
        </p>
      )}
      {call.truncated || call.constrained ? <p class="st-hint">{say("call.truncated")}</p> : null}
      <Facts facts={facts} />
    </div>
  );
}

/** What the harness got, beside what was drawn. */
function Delivered({ call }: { call: StudioCall }): JSX.Element {
  const { say } = useStudio();
  const drawn = call.reply.texts.join("");
  const text = call.delivered === null ? "" : contentText(call.delivered);
  const isSame = call.delivered !== null && drawn.startsWith(text) && (call.delivered.tool_calls ?? []).length === 0;
  return (
    <section class="st-delivered" aria-label={say("call.delivered")}>
      <h4>
        {say("call.delivered")}{" "}
        <small>
          {say(call.delivered === null ? "delivered.none" : isSame ? "delivered.same" : "delivered.parsed")}
        </small>
      </h4>
      {call.delivered === null ? null : <Message message={call.delivered} />}
    </section>
  );
}
