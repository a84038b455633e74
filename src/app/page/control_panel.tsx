import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import {
  type ControlRequest,
  type ExperimentChoice,
  isAlive,
  type RunFault,
  type RunStatus,
} from "../../schema/run_control.ts";
import { ConfirmDialog } from "./confirm_dialog.tsx";
import { FaultNotice } from "./environment.tsx";
import { experimentText } from "./experiment_text.ts";
import { useKeptValue } from "./kept_value.ts";
import { formValues, type StartIntent, shownTexts, startRequest } from "./run_form.ts";
import type { RunMemory } from "./run_memory.ts";
import { replacedRun, type SteerAction, takes } from "./run_offers.ts";
import { Settings } from "./run_settings.tsx";
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
  const [fault, setFault] = useLiveState<RunFault | null>(null);
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
  readonly memory: RunMemory;
}

/** Chooses what to train, and starts it. */
export function ControlPanel({ say, status, choices, control, memory }: ControlPanelProps): JSX.Element {
  const { busy, fault } = useKeptValue(memory.asking);
  const doubted = useKeptValue(memory.doubted);
  const send = async (request: ControlRequest): Promise<void> => {
    memory.asking.set({ busy: true, fault: null });
    memory.asking.set({ busy: false, fault: await control(request) });
  };
  const ask = (request: ControlRequest | string): void => {
    const replaced = typeof request === "string" ? null : replacedRun(request, choices);
    if (typeof request === "string") memory.asking.set({ busy: false, fault: request });
    else if (replaced === null) void send(request);
    else memory.doubted.set({ request, replaced });
  };
  const closed = busy || isAlive(status.phase);
  return (
    <>
      <SettingsForm say={say} choices={choices} shown={status.experiment} closed={closed} memory={memory} ask={ask} />
      {doubted && (
        <ConfirmDialog
          title={say("run.replaceTitle")}
          text={say("run.replaceText", { title: experimentText(say, doubted.replaced, "title") })}
          yes={say("run.replaceYes")}
          no={say("run.replaceNo")}
          answer={(yes) => {
            memory.doubted.set(null);
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
  readonly memory: RunMemory;
  ask(request: ControlRequest | string): void;
}

function SettingsForm({ say, choices, shown, closed, memory, ask }: SettingsProps): JSX.Element | null {
  const chosen = useKeptValue(memory.chosen);
  const choice = [chosen, shown].flatMap((wanted) => choices.filter(({ id }) => id === wanted))[0] ?? choices[0];
  if (choice === undefined) return null;
  const values = formValues(choice);
  const texts = shownTexts(values);
  const draft = memory.draftOf(choice.id);
  const submit = (event: Event): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const { value } = ((event as SubmitEvent).submitter as HTMLButtonElement | null) ?? { value: "start" };
    ask(startRequest(new FormData(form), choice, value as StartIntent, say));
  };
  const keep = (event: Event): void => {
    const { name, value } = event.target as HTMLInputElement;
    const over = texts[name];
    if (over !== undefined) draft.type(name, value, over);
  };
  return (
    <form class="pg-panel" aria-labelledby="pg-settings" onSubmit={submit} onInput={keep}>
      <h2 id="pg-settings">{say("run.settings")}</h2>
      <label class="pg-field">
        <span class="pg-label">{say("run.experiment")}</span>
        <select
          class="pg-input"
          name="experiment"
          onChange={(event: Event) => memory.chosen.set((event.target as HTMLSelectElement).value)}
        >
          {choices.map((offered) => (
            <option key={offered.id} value={offered.id} selected={offered.id === choice.id}>
              {experimentText(say, offered, "title")}
            </option>
          ))}
        </select>
        <span class="pg-hint">{experimentText(say, choice, "summary")}</span>
      </label>
      <Settings key={choice.id} {...{ say, values, texts, draft, memory }} />
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
