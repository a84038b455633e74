import { FormatError } from "../core/errors.ts";
import type { ChatRequest } from "../schema/chat.ts";
import type { TokenizerFiles } from "../schema/tokenizer_files.ts";
import { adaptMessages } from "./adapted_messages.ts";
import { chatmlTemplate } from "./chatml.ts";
import { hermes } from "./hermes.ts";
import { react } from "./react.ts";
import { TemplateEngine } from "./template_engine.ts";
import { probeCapabilities, probeForm, type TemplateCapabilities } from "./template_form.ts";
import {
  type Preparation,
  type TemplateForm,
  templateMessages,
  templateTools,
  templateValue,
} from "./template_messages.ts";
import type { ToolCallFormat } from "./tool_call_format.ts";
import { detectToolCallFormat } from "./tool_call_formats.ts";

/** One of a folder's templates with what was found out about it. */
interface Variant {
  engine: TemplateEngine;
  form: TemplateForm;
  capabilities: TemplateCapabilities;
}

/** What a template needs besides messages. */
export interface ChatTemplateOptions {
  /** Variables every render gets, such as `bos_token`. */
  variables?: Readonly<Record<string, string>>;
  /** The day that `strftime_now` tells; by default the template finds no clock and writes its own date. */
  date?: Date | null;
  /** How the model writes tool calls; found from the template by default. */
  toolCallFormat?: ToolCallFormat | undefined;
}

/** How a request is rendered. */
export interface RenderOptions {
  /** Ends with what opens the assistant's turn. */
  generationPrompt: boolean;
  preparation: Preparation;
}

/** A model folder's chat templates: one, or a list by name of which "tool_use" serves requests with tools. */
export class ChatTemplate {
  /** How the model writes tool calls. */
  readonly toolCallFormat: ToolCallFormat;
  private readonly variants: ReadonlyMap<string, Variant>;
  private readonly variables: Readonly<Record<string, string>>;

  /** @throws FormatError "template_error" when a template does not compile */
  constructor(sources: Readonly<Record<string, string>>, options: ChatTemplateOptions = {}) {
    const variables = options.variables ?? {};
    this.variables = variables;
    this.variants = new Map(
      Object.entries(sources).map(([name, source]) => {
        const engine = new TemplateEngine(source, options.date ?? null);
        const form = probeForm(engine, variables);
        return [name, { engine, form, capabilities: probeCapabilities(engine, variables, form) }];
      }),
    );
    const speaksCalls = [...this.variants.values()].some(({ capabilities }) => capabilities.toolCalls);
    const detected = detectToolCallFormat(this.source) ?? (speaksCalls ? hermes : react);
    this.toolCallFormat = options.toolCallFormat ?? detected;
  }

  /**
   * The templates of a folder: chat_template.jinja, else tokenizer_config.json's chat_template (a string or a list),
   * else ChatML.
   */
  static load(files: TokenizerFiles, options: ChatTemplateOptions = {}): ChatTemplate {
    const sources = { ...configTemplates(files.tokenizerConfig?.chat_template), ...files.chatTemplates };
    return new ChatTemplate(Object.keys(sources).length > 0 ? sources : { default: chatmlTemplate }, options);
  }

  /** The text of all templates, to look for markup in. */
  get source(): string {
    return [...this.variants.values()].map((variant) => variant.engine.source).join("\n");
  }

  /** What the template for requests with or without tools writes. */
  capabilities(withTools: boolean): TemplateCapabilities {
    return this.variant(withTools).capabilities;
  }

  /** Renders variables as they are, in Hugging Face's own form. @throws FormatError "template_error" */
  renderVariables(variables: Readonly<Record<string, unknown>>): string {
    const tools = variables.tools;
    const { engine } = this.variant(Array.isArray(tools) && tools.length > 0);
    return engine.render({ ...this.variables, ...variables });
  }

  /** Renders a request. @throws FormatError "template_error" | "unsupported_content" */
  render(request: ChatRequest, options: RenderOptions): string {
    const { preparation } = options;
    const variant = this.variant((request.tools?.length ?? 0) > 0);
    const adapted = adaptMessages(request, variant.capabilities, this.toolCallFormat);
    const rendered = variant.engine.render({
      ...this.variables,
      ...(templateValue(request.templateArgs ?? {}, preparation) as Record<string, unknown>),
      messages: templateMessages(adapted.messages, variant.form, preparation),
      ...(adapted.tools?.length ? { tools: templateTools(adapted.tools, preparation) } : {}),
      add_generation_prompt: options.generationPrompt,
    });
    return preparation.numbers.restore(rendered);
  }

  private variant(withTools: boolean): Variant {
    const name = withTools && this.variants.has("tool_use") ? "tool_use" : "default";
    const found = this.variants.get(name) ?? this.variants.values().next().value;
    if (found) return found;
    throw new FormatError("template_error", "The model folder lists no chat template.", {
      do: "Add a chat_template.jinja, or remove the empty list from tokenizer_config.json.",
    });
  }
}

/** tokenizer_config.json holds a template as a string or as a list of named ones. */
function configTemplates(value: unknown): Record<string, string> {
  if (typeof value === "string") return { default: value };
  if (!Array.isArray(value)) return {};
  const named = value.filter(
    (item): item is { name: string; template: string } =>
      typeof item?.name === "string" && typeof item?.template === "string",
  );
  return Object.fromEntries(named.map((item) => [item.name, item.template]));
}
