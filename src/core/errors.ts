/** Options every Leyden error takes: what the reader should do, and the fault behind it. */
export interface ErrorDetail {
  /** An instruction in the imperative: "Pass --model DIR.". */
  do?: string;
  cause?: unknown;
  /** Plain values a program may read: names, sizes, limits. */
  data?: Record<string, unknown>;
}

/** How a command ends when this error reaches the top: DESIGN's exit codes. */
export type ExitCode = 1 | 2 | 3 | 4;

/**
 * The base of every error a user can meet. `code` is stable and safe to match on; `message` says what happened with
 * the values; `do` says what to do about it.
 */
export class LeydenError extends Error {
  readonly code: string;
  readonly do: string;
  readonly data: Record<string, unknown>;
  /** 1 a check failed, 2 incomplete, 3 environment, 4 bad input. */
  readonly exitCode: ExitCode;

  constructor(code: string, message: string, detail: ErrorDetail = {}, exitCode: ExitCode = 4) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = new.target.name;
    this.code = code;
    this.do = detail.do ?? "";
    this.data = detail.data ?? {};
    this.exitCode = exitCode;
  }

  /** The one-line form that `--json` commands and the gateway send. */
  toJSON(): { code: string; message: string; do: string } {
    return { code: this.code, message: this.message, do: this.do };
  }
}

/** A tensor's shape is not what the operation needs. */
export class ShapeError extends LeydenError {
  constructor(place: string, expected: readonly unknown[], got: readonly unknown[], advice: string) {
    super("shape", `ShapeError[${place}]: expected (${expected.join(",")}), got (${got.join(",")}). ${advice}`, {
      do: advice,
      data: { place, expected, got },
    });
  }
}

/** An integer input (a token id, a position, a record's row) points outside its table. */
export class IndexError extends LeydenError {
  constructor(place: string, entry: number, value: number, limit: number, advice: string) {
    super("index", `IndexError[${place}]: entry ${entry} is ${value}, the table has ${limit} rows. ${advice}`, {
      do: advice,
      data: { place, entry, value, limit },
    });
  }
}

/** A configuration value is unknown, missing or out of range. */
export class ConfigError extends LeydenError {
  constructor(message: string, detail: ErrorDetail = {}) {
    super("config", message, detail, 4);
  }
}

/** A file, folder or checkpoint cannot be used as it is. */
export class FormatError extends LeydenError {
  constructor(code: string, message: string, detail: ErrorDetail = {}) {
    super(code, message, detail, 4);
  }
}

/** The machine lacks something: an adapter, a driver, a program, a feature. */
export class EnvironmentError extends LeydenError {
  constructor(code: string, message: string, detail: ErrorDetail = {}) {
    super(code, message, detail, 3);
  }
}

/** The GPU device reported a fault: validation, shader compile, out of memory, loss. */
export class DeviceError extends LeydenError {
  constructor(
    code: "device_lost" | "device_memory" | "device_validation" | "shader",
    message: string,
    detail: ErrorDetail = {},
  ) {
    super(code, message, detail, 3);
  }
}

/** A request was cancelled by its AbortSignal or by id. */
export class CancelledError extends LeydenError {
  constructor(what: string) {
    super("cancelled", `${what} was cancelled.`, { do: "Send it again if it is still wanted." }, 2);
  }
}

/** Any thrown value as a LeydenError; unknown values become code "internal" with their cause kept. */
export function asLeydenError(thrown: unknown): LeydenError {
  if (thrown instanceof LeydenError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new LeydenError("internal", message, { cause: thrown, do: "Report this with the command and its output." }, 1);
}
