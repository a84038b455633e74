import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { GroupCredit, RolloutCredit } from "../../../src/schema/studio.ts";
import type { StudioRegrade } from "../../../src/schema/studio_api.ts";
import { useStudio } from "./context.ts";
import { Facts } from "./facts.tsx";
import { numberText } from "./format.ts";
import { useLiveState } from "./live_state.ts";
import { useLoaded } from "./loading.ts";
import { Notice } from "./notice.tsx";
import { RewardMark } from "./rollout_columns.tsx";
import { hrefTo, type Route } from "./router.ts";
import { ScrollRegion } from "./scroll_region.tsx";

/** Rollouts of one task beside each other: what they earned, what that is compared with, what follows. */
export function GroupView({ route }: { route: Route }): JSX.Element {
  const { api, say, language } = useStudio();
  const { id } = route;
  const loaded = useLoaded(
    id,
    () => api.group(id),
    ({ rollouts, updated }) => updated || rollouts.some((one) => one.startsWith(`${id}-`)),
  );
  const [regrade, setRegrade] = useLiveState<StudioRegrade | null>(null);
  const [error, setError] = useLiveState("");
  const credit = loaded.value;
  if (credit === null) return <Notice loaded={loaded} />;
  const after = regrade?.after.group === id ? regrade.after : null;
  const advance = (rollout: string, reward: number): void => {
    api.regrade(rollout, reward).then(
      (found) => {
        setRegrade(found);
        setError("");
      },
      (thrown: Error) => setError(thrown.message),
    );
  };
  return (
    <section aria-labelledby="st-group-title">
      <div class="st-heading">
        <h2 id="st-group-title">{say("group.title", { id })}</h2>
        <span class="st-task">{credit.task}</span>
      </div>
      <GroupFacts credit={credit} />
      {credit.gaps.map((gap) => (
        <p key={gap} class="st-hint">
          {say(`gap.${gap}`)}
        </p>
      ))}
      <ScrollRegion label={say("group.table")}>
        <table class="st-table st-group-table">
          <Columns isRegraded={after !== null} />
          <tbody>
            {credit.rollouts.map((rollout) => (
              <GroupRow
                key={rollout.id}
                rollout={rollout}
                after={after?.rollouts.find((one) => one.id === rollout.id) ?? null}
                most={mostOf(credit, after)}
                advance={api.isLive ? (reward) => advance(rollout.id, reward) : null}
              />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      <p class="st-hint" role="status">
        {after === null
          ? say("group.hint")
          : say("group.regraded", {
              before: numberText(credit.mean, language),
              after: numberText(after.mean, language),
            })}
        {after === null ? null : (
          <button type="button" class="st-link" onClick={() => setRegrade(null)}>
            {say("group.reset")}
          </button>
        )}
      </p>
      {error === "" ? null : (
        <p class="st-error" role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

/** The largest advantage, which bars are measured by. */
function mostOf(...credits: readonly (GroupCredit | null)[]): number {
  const values = credits.flatMap((credit) => credit?.rollouts.map((one) => Math.abs(one.advantage ?? 0)) ?? []);
  return Math.max(...values, 1e-9);
}

function GroupFacts({ credit }: { credit: GroupCredit }): JSX.Element {
  const { say, language } = useStudio();
  const facts: readonly (readonly [string, string])[] = [
    [say("group.estimator"), credit.estimator === "" ? "–" : `${credit.estimator} (${credit.level})`],
    [say("group.mean"), numberText(credit.mean, language)],
    [say("group.std"), numberText(credit.std, language)],
    [say("column.update"), credit.mode === "val" ? say("mode.val") : numberText(credit.update, language)],
  ];
  return <Facts facts={facts} />;
}

function Columns({ isRegraded }: { isRegraded: boolean }): JSX.Element {
  const { say } = useStudio();
  return (
    <thead>
      <tr>
        <th scope="col">{say("column.rollout")}</th>
        <th scope="col">{say("column.reward")}</th>
        <th scope="col">{say("group.baseline")}</th>
        <th scope="col">{say("group.advantage")}</th>
        {isRegraded ? <th scope="col">{say("group.advantageAfter")}</th> : null}
        <th scope="col">{say("column.tokens")}</th>
        <th scope="col">{say("group.note")}</th>
        <th scope="col">{say("group.edit")}</th>
      </tr>
    </thead>
  );
}

interface RowProps {
  readonly rollout: RolloutCredit;
  readonly after: RolloutCredit | null;
  readonly most: number;
  readonly advance: ((reward: number) => void) | null;
}

function GroupRow({ rollout, after, most, advance }: RowProps): JSX.Element {
  const { say, language } = useStudio();
  const note =
    rollout.filled === null ? rollout.excluded : say("group.filled", { value: numberText(rollout.filled, language) });
  const isChanged = after !== null && after.reward !== rollout.reward;
  // Cells have keys, so that the field keeps what was typed when a column comes before it.
  return (
    <tr>
      <th key="id" scope="row">
        <a href={hrefTo(["rollouts", rollout.id])}>{rollout.id}</a>
      </th>
      <td key="reward">
        <RewardMark reward={rollout.reward} language={language} />
        {isChanged ? <b class="st-reward-after"> → {numberText(after.reward, language, 3)}</b> : null}
      </td>
      <td key="baseline" class="st-numeric">
        {numberText(rollout.baseline, language)}
      </td>
      <td key="advantage">
        <AdvantageBar value={rollout.advantage} most={most} />
      </td>
      {after === null ? null : (
        <td key="after">
          <AdvantageBar value={after.advantage} most={most} />
        </td>
      )}
      <td key="tokens" class="st-numeric">
        {numberText(rollout.tokens, language)}
      </td>
      <td key="note">{note ?? ""}</td>
      <td key="edit">{advance === null ? null : <RewardField rollout={rollout} advance={advance} />}</td>
    </tr>
  );
}

/** A reward to look at in place of the recorded one. */
function RewardField({ rollout, advance }: { rollout: RolloutCredit; advance(reward: number): void }): JSX.Element {
  const { say } = useStudio();
  const [text, setText] = useLiveState(String(rollout.reward ?? 0));
  return (
    <form
      class="st-inline"
      onSubmit={(event: Event) => {
        event.preventDefault();
        advance(Number(text));
      }}
    >
      <input
        type="number"
        step="any"
        required
        aria-label={say("group.newReward", { id: rollout.id })}
        value={text}
        onInput={(event) => setText((event.target as HTMLInputElement).value)}
      />
      <button type="submit" class="st-button">
        {say("group.advance")}
      </button>
    </form>
  );
}

/** An advantage as a bar to the left or right of zero, with its number. */
function AdvantageBar({ value, most }: { value: number | null; most: number }): JSX.Element {
  const { language } = useStudio();
  if (value === null) return <span>–</span>;
  const share = (Math.abs(value) / most) * 50;
  const left = value < 0 ? 50 - share : 50;
  return (
    <span class="st-advantage">
      <span class="st-advantage-bar" aria-hidden="true">
        <span class={value < 0 ? "st-down-fill" : "st-up-fill"} style={{ left: `${left}%`, width: `${share}%` }} />
      </span>
      <span class="st-numeric">{numberText(value, language, 3)}</span>
    </span>
  );
}
