import { asLeydenError, LeydenError } from "../../src/core/errors.ts";

/** A refusal in Agent Lightning's form: `{"detail": …}`. */
export class DetailError extends LeydenError {
  readonly status: number;
  readonly detail: unknown;
  readonly headers: Readonly<Record<string, string>>;

  /** `detail` is a sentence, or a list of validation problems. */
  constructor(status: number, detail: unknown, headers: Readonly<Record<string, string>> = {}) {
    super(`http_${status}`, typeof detail === "string" ? detail : JSON.stringify(detail));
    this.status = status;
    this.detail = detail;
    this.headers = headers;
  }

  response(): Response {
    return Response.json({ detail: this.detail }, { status: this.status, headers: this.headers });
  }
}

/** OpenAI's families of errors by status. */
function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 404) return "not_found_error";
  if (status === 409) return "conflict_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

/** A refusal of a model call; each dialect words it in its own form. */
export class ApiError extends LeydenError {
  readonly status: number;
  /** The field of the request that is wrong. */
  readonly param: string | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    message: string,
    detail: { param?: string | null; headers?: Readonly<Record<string, string>>; cause?: unknown } = {},
  ) {
    super(code, message, { cause: detail.cause });
    this.status = status;
    this.param = detail.param ?? null;
    this.headers = detail.headers ?? {};
  }

  /** OpenAI's `{"error":{"message","type","param","code"}}`. */
  openAi(): { error: { message: string; type: string; param: string | null; code: string } } {
    const { message, status, param, code } = this;
    return { error: { message, type: typeOf(status), param, code } };
  }
}

/** A prompt leaves no room for a reply. */
export class ContextLengthExceeded extends ApiError {
  readonly contextLength: number;
  readonly promptTokens: number;

  constructor(contextLength: number, promptTokens: number) {
    super(
      400,
      "context_length_exceeded",
      `This model's maximum context length is ${contextLength} tokens. However, your messages resulted in ${promptTokens} tokens. Please reduce the length of the messages.`,
      { param: "messages" },
    );
    this.contextLength = contextLength;
    this.promptTokens = promptTokens;
  }
}

/** Status of the faults that the layers below raise while a call is answered. */
const statusByCode: Readonly<Record<string, number>> = {
  context_length_exceeded: 400,
  // Sampling settings that the engine refuses.
  config: 400,
  template_error: 400,
  unsupported_content: 400,
  text_unencodable: 400,
  // Ids of another model's tokenizer, and a form that no reply has: asking again changes nothing.
  token_out_of_range: 400,
  constraint_dead_end: 400,
  rollout_not_found: 404,
  cancelled: 499,
  device_lost: 503,
  device_memory: 503,
  store_write: 503,
  store_closed: 503,
  store_fenced: 503,
};

/** Anything thrown while a call is answered, as the error to send. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof DetailError) return new ApiError(thrown.status, thrown.code, thrown.message, thrown);
  const error = asLeydenError(thrown);
  const status = statusByCode[error.code] ?? 500;
  // What went wrong inside is for the log; the harness learns that it may try again.
  const said = error.do === "" || error.message.includes(error.do) ? error.message : `${error.message} ${error.do}`;
  const message = error.code === "internal" ? "The gateway failed to answer this call." : said;
  return new ApiError(status, error.code, message, { cause: thrown });
}
