import { useEffect, useMemo } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import type { FormDraft } from "./form_draft.ts";
import { rewardExample } from "./reward_example.ts";
import type { Say } from "./texts.ts";

/** Where the reward comes from. */
export interface RewardProps {
  readonly say: Say;
  /** What a kept run has of a function that was written here; empty for the experiment's own. */
  readonly source: string;
  /** What was typed before. */
  readonly draft: FormDraft;
}

/** Where the reward comes from: the experiment, or a function that is written here. */
export function RewardField({ say, source, draft }: RewardProps): JSX.Element {
  const kind = source === "" ? "configured" : "own";
  const isOwn = useMemo(() => (draft.typed("rewardKind", kind) ?? kind) === "own", [draft, source]);
  const [own, setOwn] = useLiveState(isOwn);
  useEffect(() => setOwn(isOwn), [isOwn, source]);
  // Another language of the page does not overwrite what was written since.
  const [example] = useLiveState(rewardExample(say));
  const text = useMemo(() => draft.typed("reward", source) ?? (source === "" ? example : source), [draft, source, own]);
  return (
    <fieldset class="pg-field pg-plain">
      <legend class="pg-label">{say("run.rewardTitle")}</legend>
      <label>
        <input type="radio" name="rewardKind" value="configured" checked={!own} onChange={() => setOwn(false)} />{" "}
        {say("run.rewardConfigured")}
      </label>
      <br />
      <label>
        <input type="radio" name="rewardKind" value="own" checked={own} onChange={() => setOwn(true)} />{" "}
        {say("run.rewardOwn")}
      </label>
      {own && (
        <label class="pg-field">
          <span class="pg-visually-hidden">{say("run.rewardSource")}</span>
          <textarea class="pg-area" name="reward" rows={8} spellcheck={false} value={text} />
          <span class="pg-hint">{say("run.rewardHint")}</span>
        </label>
      )}
    </fieldset>
  );
}
