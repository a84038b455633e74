import { asLeydenError, EnvironmentError, FormatError, LeydenError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";
import { absolutePath, joinSegments } from "./path_segments.ts";

/** Methods that go through a port: those that answer later. */
const methods = [
  "read",
  "readText",
  "readRange",
  "size",
  "write",
  "append",
  "list",
  "exists",
  "makeFolder",
  "copy",
  "rename",
  "remove",
  "makeTempFolder",
] as const;

type Method = (typeof methods)[number];

interface FileRequest {
  readonly id: number;
  readonly method: Method;
  readonly args: readonly unknown[];
}

interface FileFault {
  readonly kind: "format" | "environment" | "other";
  readonly code: string;
  readonly message: string;
  readonly do: string;
}

type FileReply = { readonly id: number } & ({ readonly value: unknown } | { readonly fault: FileFault });

function faultOf(thrown: unknown): FileFault {
  const error = asLeydenError(thrown);
  const kind = error instanceof FormatError ? "format" : error instanceof EnvironmentError ? "environment" : "other";
  return { kind, ...error.toJSON() };
}

function errorOf({ kind, code, message, do: advice }: FileFault): LeydenError {
  if (kind === "format") return new FormatError(code, message, { do: advice });
  if (kind === "environment") return new EnvironmentError(code, message, { do: advice });
  return new LeydenError(code, message, { do: advice });
}

/** Answers what `filePort` asks at the other end, from `files`. */
export function serveFiles(files: Files, port: MessagePort): void {
  port.onmessage = ({ data }: MessageEvent<FileRequest>) => {
    const { id, method, args } = data;
    if (!methods.includes(method)) return;
    const call = files[method] as (...args: unknown[]) => Promise<unknown>;
    call(...args).then(
      (value) => port.postMessage({ id, value } satisfies FileReply),
      (thrown: unknown) => port.postMessage({ id, fault: faultOf(thrown) } satisfies FileReply),
    );
  };
}

/** The files of another thread, which serves them at the other end of the port. */
export function filePort(port: MessagePort): Files {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let asked = 0;
  port.onmessage = ({ data }: MessageEvent<FileReply>) => {
    const call = waiting.get(data.id);
    waiting.delete(data.id);
    if ("fault" in data) call?.reject(errorOf(data.fault));
    else call?.resolve(data.value);
  };
  const ask = (method: Method, args: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++asked;
      waiting.set(id, { resolve, reject });
      port.postMessage({ id, method, args } satisfies FileRequest);
    });
  const remote = Object.fromEntries(methods.map((method) => [method, (...args: unknown[]) => ask(method, args)]));
  return { ...(remote as unknown as Pick<Files, Method>), join: joinSegments, absolute: absolutePath };
}
