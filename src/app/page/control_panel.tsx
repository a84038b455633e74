import { useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import {
  type ControlRequest,
  type ExperimentChoice,
  isAlive,
  type RunFault,
  type RunStatus,
} from "../../schema/run_control.ts";
import { valueAt } from "../config_values.ts";
import { ConfirmDialog } from "./confirm_dialog.tsx";
import { FaultNotice } from "./environment.tsx";
import { experimentText } from "./experiment_text.ts";
import { RewardField } from "./reward_field.tsx";
import { formValues, numberFields, type StartIntent, startRequest } from "./run_form.ts";
import { replacedRun, type SteerAction, takes } from "./run_offers.ts";
import type { Say, TextKey } from "./texts.ts";

type Ask = (request: ControlRequest) => Promise<RunFault | null>;

const actions: readonly { action: SteerAction; text: TextKey }[] = [
  { action: "pause", text: "run.pause" },
  { action: "resume", text: "run.continue" },
  { action: "step", text: "run.step" },
  { action: "stop", text: "run.stop" },
];

/** Pauses a run, lets it go on or take one update, and stops it. */
export function RunButtons({ say, status, control }: { say: Say; status: RunStatus; control: Ask }): JSX.Element {
  const [fault, setFault] = useState<RunFault | null>(null);
  const ask = async (action: SteerAction): Promise<void> => setFault(await control({ action }));
  return (
    <>
      <fieldset class="pg-plain pg-buttons" aria-label={say("run.controls")}>
        {actions.map(({ action, text }) => (
          <button
            key={action}
            type="button"
            class="pg-button"
            disabled={!takes(action, status)}
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
  /** What waits for a yes, and the experiment whose run it would delete. */
  const [doubted, setDoubted] = useState<{ request: ControlRequest; replaced: ExperimentChoice } | null>(null);
  const send = async (request: ControlRequest): Promise<void> => {
    setBusy(true);
    setFault(null);
    setFault(await control(request));
    setBusy(false);
  };
  const ask = (request: ControlRequest | string): void => {
    const replaced = typeof request === "string" ? null : replacedRun(request, choices);
    if (typeof request === "string") setFault(request);
    else if (replaced === null) void send(request);
    else setDoubted({ request, replaced });
  };
  const closed = busy || isAlive(status.phase);
  return (
    <>
      <SettingsForm say={say} choices={choices} shown={status.experiment} closed={closed} ask={ask} />
      {doubted && (
        <ConfirmDialog
          title={say("run.replaceTitle")}
          text={say("run.replaceText", { title: experimentText(say, doubted.replaced, "title") })}
          yes={say("run.replaceYes")}
          no={say("run.replaceNo")}
          answer={(yes) => {
            setDoubted(null);
            if (yes) void send(doubted.request);
          }}
        />
      )}
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
  /** Id of the experiment whose run is shown: the one to go on with, until another is chosen. */
  readonly shown: string;
  /** True while nothing may be started. */
  readonly closed: boolean;
  ask(request: ControlRequest | string): void;
}

function SettingsForm({ say, choices, shown, closed, ask }: SettingsProps): JSX.Element | null {
  const [chosen, setChosen] = useState("");
  const choice = [chosen, shown].flatMap((wanted) => choices.filter(({ id }) => id === wanted))[0] ?? choices[0];
  if (choice === undefined) return null;
  const { config, overrides, reward } = formValues(choice);
  const submit = (event: Event): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const { value } = ((event as SubmitEvent).submitter as HTMLButtonElement | null) ?? { value: "start" };
    ask(startRequest(new FormData(form), choice, value as StartIntent, say));
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
          <NumberInput key={field.path} field={field} config={config} say={say} />
        ))}
        <RewardField say={say} source={reward} />
        <details class="pg-details">
          <summary>{say("run.more")}</summary>
          {numberFields.slice(1).map((field) => (
            <NumberInput key={field.path} field={field} config={config} say={say} />
          ))}
          <label class="pg-field">
            <span class="pg-label">{say("run.overrides")}</span>
            <textarea class="pg-area" name="overrides" rows={3} spellcheck={false} value={overridesText(overrides)} />
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
              {JSON.stringify(config, null, 2)}
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
      {resumable && <p class="pg-hint">{say("run.keptShown")}</p>}
      <p class="pg-hint">{say("run.startPausedHint")}</p>
    </>
  );
}

/** Values by path as they are typed; empty where there are none. */
function overridesText(overrides: Readonly<Record<string, unknown>>): string {
  return Object.keys(overrides).length === 0 ? "" : JSON.stringify(overrides, null, 1);
}

interface NumberInputProps {
  readonly field: (typeof numberFields)[number];
  readonly config: ExperimentConfig;
  readonly say: Say;
}

function NumberInput({ field: { path, text, step, min }, config, say }: NumberInputProps): JSX.Element {
  return (
    <label class="pg-field">
      <span class="pg-label">{say(text)}</span>
      <input
        class="pg-input"
        type="number"
        name={path}
        min={min}
        step={step}
        value={String(valueAt(config, path) ?? "")}
      />
    </label>
  );
}
