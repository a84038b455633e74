/**
 * What a relay and the tab behind it say to each other over a WebSocket. A message is bytes: one line of JSON, a line
 * feed, and the payload, which is the body of a request or a piece of an answer's.
 */
import { z } from "zod";
import { FormatError } from "../core/errors.ts";

/** Names and values of HTTP headers, names in lower case. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** A message's line. */
export type RelayFrame =
  /** From the tab, first: the token of its address, or of the connection before. */
  | { kind: "hello"; token: string }
  /** The token for the tab's next connection; the one that was shown opens nothing more. */
  | { kind: "welcome"; token: string }
  /** A program's request; the payload is its body. `path` begins with "/" and holds the query. */
  | { kind: "request"; id: number; method: string; path: string; headers: HeaderList }
  /** The program has gone. */
  | { kind: "cancel"; id: number }
  /** The program has taken so many bytes more of the answer: the tab may send as many again. */
  | { kind: "taken"; id: number; bytes: number }
  /** The answer's beginning. */
  | { kind: "head"; id: number; status: number; headers: HeaderList }
  /** The payload is a piece of the answer's body. */
  | { kind: "chunk"; id: number }
  | { kind: "end"; id: number }
  /** The answer could not be made, or not to its end. */
  | { kind: "fail"; id: number; message: string };

/** Headers of a request or an answer; one with more is refused where it comes in. */
export const mostHeaders = 200;

/** Bytes of one answer that may be on their way from the tab to a program that has not taken them yet. */
export const relayWindowBytes: number = 2 ** 20;

const id = z.number().int().min(0);
const token = z.string().max(200);
const headers = z.array(z.tuple([z.string(), z.string()])).max(mostHeaders);

const relayFrameSchema: z.ZodType<RelayFrame> = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("hello"), token }),
  z.strictObject({ kind: z.literal("welcome"), token }),
  z.strictObject({ kind: z.literal("request"), id, method: z.string(), path: z.string().startsWith("/"), headers }),
  z.strictObject({ kind: z.literal("cancel"), id }),
  z.strictObject({ kind: z.literal("taken"), id, bytes: z.number().int().min(1) }),
  z.strictObject({ kind: z.literal("head"), id, status: z.number().int().min(200).max(599), headers }),
  z.strictObject({ kind: z.literal("chunk"), id }),
  z.strictObject({ kind: z.literal("end"), id }),
  z.strictObject({ kind: z.literal("fail"), id, message: z.string() }),
]);

/** Path of the WebSocket at a relay. */
export const relaySocketPath = "/relay/socket";

/** Codes that a relay closes a tab's connection with. */
export const relayCloseCodes = { badToken: 4001, replaced: 4002, badMessage: 4003 } as const;

const lineFeed = 10;

/** A message as bytes. @throws FormatError "relay_message" for one that the other end would not read */
export function encodeRelayFrame(frame: RelayFrame, payload?: Uint8Array): Uint8Array<ArrayBuffer> {
  const read = relayFrameSchema.safeParse(frame);
  if (!read.success) throw noMessage(`A message of the kind ${frame.kind} cannot be sent`, read.error);
  const line = new TextEncoder().encode(JSON.stringify(frame));
  const bytes = new Uint8Array(line.length + 1 + (payload?.length ?? 0));
  bytes.set(line);
  bytes[line.length] = lineFeed;
  if (payload !== undefined) bytes.set(payload, line.length + 1);
  return bytes;
}

/** A message from bytes. @throws FormatError "relay_message" */
export function decodeRelayFrame(bytes: Uint8Array): { frame: RelayFrame; payload: Uint8Array } {
  const end = lineEnd(bytes);
  try {
    const frame = relayFrameSchema.parse(JSON.parse(lineOf(bytes)));
    return { frame, payload: bytes.subarray(Math.min(end + 1, bytes.length)) };
  } catch (cause) {
    throw noMessage(`A message of ${bytes.length} bytes is none of the relay's`, cause);
  }
}

/** The call that a message which cannot be read is about; null for none. */
export function callOf(bytes: Uint8Array): number | null {
  try {
    return z.object({ id }).parse(JSON.parse(lineOf(bytes))).id;
  } catch {
    return null;
  }
}

function lineEnd(bytes: Uint8Array): number {
  const end = bytes.indexOf(lineFeed);
  return end < 0 ? bytes.length : end;
}

function lineOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, lineEnd(bytes)));
}

function noMessage(what: string, cause: unknown): FormatError {
  return new FormatError("relay_message", `${what}.`, { do: "Use the page that this relay serves.", cause });
}
