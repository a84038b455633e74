import { useMemo } from "hono/jsx/dom";

/** What was typed over the fields of a form, as long as they show by themselves what they showed then. */
export class FormDraft {
  private readonly fields = new Map<string, { readonly text: string; readonly over: string }>();

  /** Keeps what stands in a field now; `over` is what the field shows by itself. */
  type(name: string, text: string, over: string): void {
    this.fields.set(name, { text, over });
  }

  /** Forgets everything. */
  clear(): void {
    this.fields.clear();
  }

  /**
   * What was typed into a field; null for nothing, and where the field shows something new since, as a run that has begun.
   */
  typed(name: string, over: string): string | null {
    const field = this.fields.get(name);
    return field === undefined || field.over !== over ? null : field.text;
  }
}

/** What a field begins with; what is typed on is the browser's until the field shows something else by itself. */
export function useDraft(draft: FormDraft, name: string, over: string): string {
  return useMemo(() => draft.typed(name, over) ?? over, [draft, name, over]);
}
