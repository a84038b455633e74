import { Environment, parse, tokenize } from "@huggingface/jinja";
import { FormatError } from "../core/errors.ts";
import { strftime } from "./strftime.ts";
import { TemplateInterpreter } from "./template_interpreter.ts";

/** What a template calls to refuse a conversation. */
class Refusal extends Error {}

/** A compiled Jinja template under Hugging Face's settings (trim_blocks, lstrip_blocks). */
export class TemplateEngine {
  readonly source: string;
  private readonly program: ReturnType<typeof parse>;
  private readonly date: Date | null;

  /**
   * `date`: what `strftime_now` formats, in UTC; without one the template finds the function undefined and falls back
   * on its own date, so that the same request always gives the same prompt.
   * @throws FormatError "template_error" when the template does not compile
   */
  constructor(source: string, date: Date | null) {
    this.source = source.replace(/\r\n?/g, "\n");
    this.date = date;
    try {
      this.program = parse(tokenize(this.source, { lstrip_blocks: true, trim_blocks: true }));
    } catch (cause) {
      throw templateError("does not compile", cause, "Correct the chat template of the model folder.");
    }
  }

  /** @throws FormatError "template_error" with the template's own message when it refuses, or the engine's */
  render(variables: Readonly<Record<string, unknown>>): string {
    try {
      const result = new TemplateInterpreter(this.environment(variables)).run(this.program) as { value: unknown };
      return String(result.value);
    } catch (cause) {
      if (cause instanceof Refusal) {
        throw templateError("refuses the messages", cause, "Send the messages in the form that the template asks for.");
      }
      throw templateError("failed", cause, "Check the messages against the model's chat template.");
    }
  }

  private environment(variables: Readonly<Record<string, unknown>>): Environment {
    const globals: Record<string, unknown> = {
      true: true,
      True: true,
      false: false,
      False: false,
      none: null,
      None: null,
      range,
      raise_exception: (message: unknown) => {
        throw new Refusal(String(message));
      },
    };
    const { date } = this;
    if (date) globals.strftime_now = (format: string) => strftime(date, format);
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...globals, ...variables })) {
      environment.variables.delete(name);
      environment.set(name, value);
    }
    return environment;
  }
}

/** Python's range as a list. */
function range(first: number, second?: number, step = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  if (step === 0) throw new Refusal("range() step must not be zero");
  const length = Math.max(0, Math.ceil((stop - start) / step));
  return Array.from({ length }, (_, i) => start + i * step);
}

function templateError(what: string, cause: unknown, advice: string): FormatError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new FormatError("template_error", `The chat template ${what}: ${reason}`, { do: advice, cause });
}
