import { useMemo } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { StudioCall, StudioScore } from "../../../src/schema/studio_api.ts";
import { useStudio } from "./context.ts";
import { numberText } from "./format.ts";
import { Legend } from "./legend.tsx";
import { useLiveState } from "./live_state.ts";
import { scaleOf, type TokenColoring, type TokenFacts, tokenValue } from "./token_colors.ts";
import { TokenText } from "./token_text.tsx";

export interface CallTokensProps {
  readonly call: StudioCall;
  readonly advantage: number | readonly number[] | null;
  readonly coloring: TokenColoring;
  onColoring(coloring: TokenColoring): void;
  /** Asks for the whole prompt. */
  onWhole(): void;
  /** Goes on from the reply's token `index`; absent where no model is. */
  onBranch?(index: number): void;
}

/** A reply's numbers of one kind, those that are known. */
function known(facts: TokenFacts, coloring: TokenColoring): number[] {
  return facts.reply.ids.flatMap((_, i) => tokenValue(facts, coloring, i) ?? []);
}

/** The tokens of a call: what is new in its prompt, and its reply in colours. */
export function CallTokens({ call, advantage, coloring, onColoring, onWhole, onBranch }: CallTokensProps): JSX.Element {
  const { api, run, say } = useStudio();
  const [score, setScore] = useLiveState<{ call: string; score: StudioScore | null; error: string }>({
    call: "",
    score: null,
    error: "",
  });
  const [chosen, setChosen] = useLiveState({ call: "", index: -1 });
  const own = score.call === call.id ? score : { score: null, error: "" };
  const facts: TokenFacts = { reply: call.reply, advantage, score: own.score };
  const scale = useMemo(() => scaleOf(coloring, known(facts, coloring)), [call, advantage, coloring, own.score]);
  const canScore = api.isLive && run.can.fork && call.own && call.endpoint !== "null";
  const choose = (next: TokenColoring): void => {
    onColoring(next);
    if (next !== "entropy" || own.score !== null) return;
    api.score(call.rollout, call.id).then(
      (found) => setScore({ call: call.id, score: found, error: "" }),
      (thrown: Error) => setScore({ call: call.id, score: null, error: thrown.message }),
    );
  };
  const missing = (["advantage", "logprob", "version"] as const).filter((one) => known(facts, one).length === 0);
  const index = chosen.call === call.id ? chosen.index : -1;
  return (
    <div class="st-call-tokens">
      <Legend
        coloring={coloring}
        scale={scale}
        missing={canScore ? missing : [...missing, "entropy"]}
        onChange={choose}
      />
      {own.error === "" ? null : (
        <p class="st-error" role="alert">
          {own.error}
        </p>
      )}
      <h4>
        {say("call.prompt", { n: call.promptTokens })}
        {call.from > 0 ? (
          <button type="button" class="st-link" onClick={onWhole}>
            {say("call.whole", { n: call.from })}
          </button>
        ) : null}
      </h4>
      <TokenText
        label={say("call.promptLabel")}
        tokens={call.prompt}
        classOf={() => "st-prompt"}
        colors=""
        chosen={-1}
      />
      <h4>{say("call.reply", { n: call.replyTokens })}</h4>
      <TokenText
        label={say("call.replyLabel")}
        tokens={call.reply}
        classOf={(i) => {
          const value = tokenValue(facts, coloring, i);
          return value === null || scale === null ? "" : scale.classOf(value);
        }}
        colors={`${coloring} ${own.score === null} ${JSON.stringify(advantage)}`}
        chosen={index}
        onChoose={(at) => setChosen({ call: call.id, index: at })}
      />
      <TokenDetail facts={facts} index={index} {...(onBranch === undefined ? {} : { onBranch })} />
    </div>
  );
}

/** Everything known of the chosen token. */
function TokenDetail({
  facts,
  index,
  onBranch,
}: {
  facts: TokenFacts;
  index: number;
  onBranch?: (index: number) => void;
}): JSX.Element {
  const { say, language } = useStudio();
  const id = facts.reply.ids[index];
  if (id === undefined) return <p class="st-detail st-hint">{say("token.hint")}</p>;
  const logprob = tokenValue(facts, "logprob", index);
  const advantage = tokenValue(facts, "advantage", index);
  const entropy = tokenValue(facts, "entropy", index);
  const number = (value: number | null): string => numberText(value, language);
  const parts = [
    say("token.place", { n: index + 1, of: facts.reply.ids.length }),
    say("token.id", { id }),
    logprob === null ? "" : say("token.logprob", { value: number(logprob), p: number(Math.exp(logprob)) }),
    advantage === null ? "" : say("token.advantage", { value: number(advantage) }),
    facts.reply.versions[index] === undefined ? "" : say("token.version", { value: facts.reply.versions[index] }),
    entropy === null
      ? ""
      : say("token.entropy", { value: number(entropy), now: number(facts.score?.logprobs[index] ?? null) }),
  ];
  return (
    <div class="st-detail">
      <p aria-live="polite">
        <code class="st-detail-token">{JSON.stringify(facts.reply.texts[index] ?? "")}</code>
        {parts.filter((part) => part !== "").join(" · ")}
      </p>
      {onBranch === undefined ? null : (
        <button type="button" class="st-button" onClick={() => onBranch(index)}>
          {say("token.branch")}
        </button>
      )}
    </div>
  );
}
