import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { type FormDraft, useDraft } from "./form_draft.ts";
import { RewardField } from "./reward_field.tsx";
import { type FormValues, numberFields } from "./run_form.ts";
import type { RunMemory } from "./run_memory.ts";
import type { Say, TextKey } from "./texts.ts";

/** The settings of one experiment. */
export interface SettingsProps {
  readonly say: Say;
  readonly values: FormValues;
  /** What the fields show by themselves, by their names. */
  readonly texts: Readonly<Record<string, string>>;
  readonly draft: FormDraft;
  readonly memory: RunMemory;
}

/** The fields of an experiment's form, with what was typed into them before. */
export function Settings({ say, values, texts, draft, memory }: SettingsProps): JSX.Element {
  const numbers = numberFields.map((field) => (
    <NumberInput key={field.path} field={field} text={texts[field.path] ?? ""} draft={draft} say={say} />
  ));
  return (
    <div>
      {numbers.slice(0, 1)}
      <RewardField say={say} source={values.reward} draft={draft} />
      <details
        class="pg-details"
        open={memory.isWhole}
        onToggle={(event: Event) => {
          memory.isWhole = (event.currentTarget as HTMLDetailsElement).open;
        }}
      >
        <summary>{say("run.more")}</summary>
        {numbers.slice(1)}
        <DraftArea name="overrides" label="run.overrides" hint="run.overridesHint" {...{ say, texts, draft }} />
        <DraftArea name="script" label="run.script" hint="run.scriptHint" {...{ say, texts, draft }} />
        <details class="pg-details">
          <summary>{say("run.config")}</summary>
          <pre class="pg-reply" tabindex={0} style="max-height:320px;overflow:auto">
            {JSON.stringify(values.config, null, 2)}
          </pre>
        </details>
      </details>
    </div>
  );
}

interface AreaProps extends Pick<SettingsProps, "say" | "texts" | "draft"> {
  readonly name: string;
  readonly label: TextKey;
  readonly hint: TextKey;
}

function DraftArea({ name, label, hint, say, texts, draft }: AreaProps): JSX.Element {
  const value = useDraft(draft, name, texts[name] ?? "");
  return (
    <label class="pg-field">
      <span class="pg-label">{say(label)}</span>
      <textarea class="pg-area" name={name} rows={3} spellcheck={false} value={value} />
      <span class="pg-hint">{say(hint)}</span>
    </label>
  );
}

interface NumberInputProps {
  readonly field: (typeof numberFields)[number];
  readonly text: string;
  readonly draft: FormDraft;
  readonly say: Say;
}

function NumberInput({ field, text, draft, say }: NumberInputProps): JSX.Element {
  const { path, step, min } = field;
  const value = useDraft(draft, path, text);
  return (
    <label class="pg-field">
      <span class="pg-label">{say(field.text)}</span>
      <input class="pg-input" type="number" name={path} min={min} step={step} value={value} />
    </label>
  );
}
