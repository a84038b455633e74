import type { ControlRequest, ExperimentChoice, RunFault } from "../../schema/run_control.ts";
import { FormDraft } from "./form_draft.ts";
import { KeptValue } from "./kept_value.ts";

/** What is being asked of the run, and what came of it. */
export interface RunAsking {
  readonly busy: boolean;
  /** A sentence for what was typed wrong. */
  readonly fault: RunFault | string | null;
}

/** An answer of the model. */
export interface Reply {
  readonly text: string;
  /** Update after which the model gave it; null for a model that is not trained here. */
  readonly update: number | null;
  readonly cut: boolean;
}

/** What was asked in the chat, with every answer so far. */
export interface Question {
  readonly text: string;
  readonly replies: readonly Reply[];
}

/** The chat as it stands. */
export interface Conversation {
  readonly questions: readonly Question[];
  readonly busy: boolean;
  readonly fault: RunFault | null;
}

/** What the section of the run keeps while the page lives: a look elsewhere, or at another experiment, loses nothing. */
export class RunMemory {
  /** Id of the experiment that was chosen; empty for none. */
  readonly chosen: KeptValue<string> = new KeptValue("");
  /** True while every setting is shown. */
  isWhole = false;
  readonly asking: KeptValue<RunAsking> = new KeptValue<RunAsking>({ busy: false, fault: null });
  /** What waits for a yes, and the experiment whose run it would delete. */
  readonly doubted: KeptValue<{ request: ControlRequest; replaced: ExperimentChoice } | null> = new KeptValue<{
    request: ControlRequest;
    replaced: ExperimentChoice;
  } | null>(null);
  readonly chat: KeptValue<Conversation> = new KeptValue<Conversation>({ questions: [], busy: false, fault: null });
  /** What stands in the field of the chat, and was not sent. */
  unsent = "";
  private readonly drafts = new Map<string, FormDraft>();

  draftOf(experiment: string): FormDraft {
    const draft = this.drafts.get(experiment) ?? new FormDraft();
    this.drafts.set(experiment, draft);
    return draft;
  }
}
