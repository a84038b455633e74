import { useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { ControlRequest, ExperimentChoice, RunFault, RunPhase, RunStatus } from "../../schema/run_control.ts";
import { FaultNotice } from "./environment.tsx";
import { experimentText } from "./experiment_text.ts";
import { RewardField } from "./reward_field.tsx";
import { numberFields, startRequest, valueAt } from "./run_form.ts";
import type { Say, TextKey } from "./texts.ts";

type Ask = (request: ControlRequest) => Promise<RunFault | null>;

type Action = "pause" | "resume" | "step" | "stop";

const actions: readonly { action: Action; text: TextKey; phases: readonly RunPhase[] }[] = [
  { action: "pause", text: "run.pause", phases: ["running"] },
  { action: "resume", text: "run.continue", phases: ["paused"] },
  { action: "step", text: "run.step", phases: ["paused"] },
  { action: "stop", text: "run.stop", phases: ["opening", "running", "paused", "finished"] },
];

/** Phases in which another run may be started. */
const startable: readonly RunPhase[] = ["idle", "stopped", "finished", "failed"];

/** Pauses a run, lets it go on or take one update, and stops it. */
export function RunButtons({ say, phase, control }: { say: Say; phase: RunPhase; control: Ask }): JSX.Element {
  const [fault, setFault] = useState<RunFault | null>(null);
  const ask = async (action: Action): Promise<void> => setFault(await control({ action }));
  return (
    <>
      <fieldset class="pg-plain pg-buttons" aria-label={say("run.controls")}>
        {actions.map(({ action, text, phases }) => (
          <button
            key={action}
            type="button"
            class="pg-button"
            disabled={!phases.includes(phase)}
            onClick={() => void ask(action)}
          >
            {say(text)}
          </button>
        ))}
      </fieldset>
      {fault && <FaultNotice fault={fault} say={say} />}
    </>
  );
}

/** What the panel shows, and how it asks for something. */
export interface ControlPanelProps {
  readonly say: Say;
  readonly status: RunStatus;
  readonly choices: readonly ExperimentChoice[];
  readonly control: Ask;
}

/** Chooses what to train, and starts it. */
export function ControlPanel({ say, status, choices, control }: ControlPanelProps): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<RunFault | string | null>(null);
  const ask = async (request: ControlRequest | string): Promise<void> => {
    if (typeof request === "string") {
      setFault(request);
      return;
    }
    setBusy(true);
    setFault(null);
    setFault(await control(request));
    setBusy(false);
  };
  return (
    <>
      <SettingsForm say={say} choices={choices} closed={busy || !startable.includes(status.phase)} ask={ask} />
      {typeof fault === "string" && (
        <p class="pg-error" role="alert">
          {fault}
        </p>
      )}
      {fault !== null && typeof fault !== "string" && <FaultNotice fault={fault} say={say} />}
    </>
  );
}

interface SettingsProps {
  readonly say: Say;
  readonly choices: readonly ExperimentChoice[];
  /** True while nothing may be started. */
  readonly closed: boolean;
  ask(request: ControlRequest | string): Promise<void>;
}

function SettingsForm({ say, choices, closed, ask }: SettingsProps): JSX.Element | null {
  const [chosen, setChosen] = useState(choices[0]?.id ?? "");
  const choice = choices.find(({ id }) => id === chosen) ?? choices[0];
  if (choice === undefined) return null;
  const submit = (event: Event): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const intent = ((event as SubmitEvent).submitter as HTMLButtonElement | null)?.value ?? "start";
    const request = startRequest(new FormData(form), choice.config, say);
    void ask(typeof request === "string" || request.action !== "start" ? request : withIntent(request, intent));
  };
  return (
    <form class="pg-panel" aria-labelledby="pg-settings" onSubmit={submit}>
      <h2 id="pg-settings">{say("run.settings")}</h2>
      <label class="pg-field">
        <span class="pg-label">{say("run.experiment")}</span>
        <select
          class="pg-input"
          name="experiment"
          onChange={(event: Event) => setChosen((event.target as HTMLSelectElement).value)}
        >
          {choices.map((offered) => (
            <option key={offered.id} value={offered.id} selected={offered.id === choice.id}>
              {experimentText(say, offered, "title")}
            </option>
          ))}
        </select>
        <span class="pg-hint">{experimentText(say, choice, "summary")}</span>
      </label>
      <div key={choice.id}>
        {numberFields.slice(0, 1).map((field) => (
          <NumberInput key={field.path} field={field} choice={choice} say={say} />
        ))}
        <RewardField say={say} />
        <details class="pg-details">
          <summary>{say("run.more")}</summary>
          {numberFields.slice(1).map((field) => (
            <NumberInput key={field.path} field={field} choice={choice} say={say} />
          ))}
          <label class="pg-field">
            <span class="pg-label">{say("run.overrides")}</span>
            <textarea class="pg-area" name="overrides" rows={3} spellcheck={false} />
            <span class="pg-hint">{say("run.overridesHint")}</span>
          </label>
          <label class="pg-field">
            <span class="pg-label">{say("run.script")}</span>
            <textarea class="pg-area" name="script" rows={3} spellcheck={false} />
            <span class="pg-hint">{say("run.scriptHint")}</span>
          </label>
          <details class="pg-details">
            <summary>{say("run.config")}</summary>
            <pre class="pg-reply" tabindex={0} style="max-height:320px;overflow:auto">
              {JSON.stringify(choice.config, null, 2)}
            </pre>
          </details>
        </details>
      </div>
      <StartButtons say={say} closed={closed} resumable={choice.resumable} />
    </form>
  );
}

interface StartButtonsProps {
  readonly say: Say;
  readonly closed: boolean;
  /** There is a run to continue. */
  readonly resumable: boolean;
}

function StartButtons({ say, closed, resumable }: StartButtonsProps): JSX.Element {
  return (
    <>
      <div class="pg-buttons">
        <button type="submit" class="pg-button pg-primary" value="start" disabled={closed}>
          {say("run.start")}
        </button>
        <button type="submit" class="pg-button" value="paused" disabled={closed}>
          {say("run.startPaused")}
        </button>
        <button
          type="submit"
          class="pg-button"
          value="resume"
          disabled={closed || !resumable}
          {...(resumable ? {} : { "aria-describedby": "pg-no-run" })}
        >
          {say("run.resume")}
        </button>
      </div>
      {!resumable && (
        <p class="pg-hint" id="pg-no-run">
          {say("run.nothingKept")}
        </p>
      )}
      <p class="pg-hint">{say("run.startPausedHint")}</p>
    </>
  );
}

function withIntent(request: Extract<ControlRequest, { action: "start" }>, intent: string): ControlRequest {
  if (intent === "paused") return { ...request, paused: true };
  return intent === "resume" ? { ...request, resume: true } : request;
}

interface NumberInputProps {
  readonly field: (typeof numberFields)[number];
  readonly choice: ExperimentChoice;
  readonly say: Say;
}

function NumberInput({ field: { path, text, step, min }, choice, say }: NumberInputProps): JSX.Element {
  return (
    <label class="pg-field">
      <span class="pg-label">{say(text)}</span>
      <input
        class="pg-input"
        type="number"
        name={path}
        min={min}
        step={step}
        value={String(valueAt(choice.config, path) ?? "")}
      />
    </label>
  );
}
