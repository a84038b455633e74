import { useEffect, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { rewardExample } from "./reward_example.ts";
import type { Say } from "./texts.ts";

/** Where the reward comes from: the experiment, or a function that is written here; `source` is what a kept run has of that. */
export function RewardField({ say, source }: { say: Say; source: string }): JSX.Element {
  const [own, setOwn] = useState(source !== "");
  useEffect(() => setOwn(source !== ""), [source]);
  // Another language of the page does not overwrite what was written since.
  const [example] = useState(rewardExample(say));
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
          <textarea
            class="pg-area"
            name="reward"
            rows={8}
            spellcheck={false}
            value={source === "" ? example : source}
          />
          <span class="pg-hint">{say("run.rewardHint")}</span>
        </label>
      )}
    </fieldset>
  );
}
