import type { ChatMessage } from "../schema/chat.ts";
import { CarriedNumbers } from "./python_json.ts";
import type { TemplateEngine } from "./template_engine.ts";
import { type Preparation, type TemplateForm, templateMessages, templateTools } from "./template_messages.ts";

/** What a template writes at all; what it lacks would be lost without a word. */
export interface TemplateCapabilities {
  system: boolean;
  tools: boolean;
  toolCalls: boolean;
  toolResults: boolean;
  /** Writes several calls of one turn. */
  severalCalls: boolean;
  /** Refuses two turns of the user in a row. */
  alternating: boolean;
}

/** Texts no template contains. */
const needle = "kxq7needle";
const callId = "kxq7longcall1";

const asIs: Preparation = { mark: (text) => text, numbers: new CarriedNumbers("\ufdcf") };

/** Finds out by rendering small conversations which form of messages a template reads. */
export function probeForm(engine: TemplateEngine, variables: Readonly<Record<string, unknown>>): TemplateForm {
  const form: TemplateForm = {
    arguments: "string",
    content: "string",
    developer: engine.source.includes("developer"),
    reasoning: engine.source.includes("reasoning_content"),
    callIds: "any",
    callContent: "text",
  };
  const user: ChatMessage[] = [{ role: "user", content: needle }];
  const writes = (trial: TemplateForm) => attempt(engine, variables, user, trial).includes(needle);
  if (!writes(form) && writes({ ...form, content: "parts" })) form.content = "parts";
  const writesCall = (trial: TemplateForm) =>
    attempt(engine, variables, withCall("{}", needle), trial).includes(needle);
  if (!writesCall(form)) {
    const others: Partial<TemplateForm>[] = [{ callIds: "nine" }, { callContent: "none" }];
    Object.assign(
      form,
      others.find((other) => writesCall({ ...form, ...other })),
    );
  }
  // As text they stay as sampled; a template that quotes the text or takes it apart wants an object.
  const json = `{"${needle}":"v"}`;
  if (!attempt(engine, variables, withCall(json), form).includes(json)) form.arguments = "object";
  return form;
}

/** Finds out by rendering small conversations what a template writes. */
export function probeCapabilities(
  engine: TemplateEngine,
  variables: Readonly<Record<string, unknown>>,
  form: TemplateForm,
): TemplateCapabilities {
  const shows = (messages: ChatMessage[], extra: Record<string, unknown> = {}) =>
    attempt(engine, { ...variables, ...extra }, messages, form).includes(needle);
  const user: ChatMessage[] = [{ role: "user", content: needle }];
  const tool = { type: "function" as const, function: { name: needle, description: "d", parameters: {} } };
  return {
    system:
      shows([
        { role: "system", content: needle },
        { role: "user", content: "u" },
      ]) || !shows(user),
    tools: shows([{ role: "user", content: "u" }], { tools: templateTools([tool], asIs) }),
    toolCalls: shows(withCall(`{"${needle}":"v"}`)),
    severalCalls: shows([{ role: "user", content: "u" }, severalCalls]),
    toolResults: shows([...withCall("{}"), { role: "tool", tool_call_id: callId, content: needle }]),
    alternating: shows(user) && !shows([{ role: "user", content: "u" }, ...user]),
  };
}

const severalCalls: ChatMessage = {
  role: "assistant",
  content: "",
  tool_calls: ["{}", `{"${needle}":"v"}`].map((args, i) => ({
    id: `${callId}${i}`,
    type: "function",
    function: { name: "f", arguments: args },
  })),
};

function withCall(json: string, name = "f"): ChatMessage[] {
  const call = { id: callId, type: "function" as const, function: { name, arguments: json } };
  return [
    { role: "user", content: "u" },
    { role: "assistant", content: "", tool_calls: [call] },
  ];
}

/** The rendered text, "" where the template refuses. */
function attempt(
  engine: TemplateEngine,
  variables: Readonly<Record<string, unknown>>,
  messages: readonly ChatMessage[],
  form: TemplateForm,
): string {
  try {
    return engine.render({ ...variables, messages: templateMessages(messages, form, asIs) });
  } catch {
    return "";
  }
}
