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
  /** The answer's beginning. */
  | { kind: "head"; id: number; status: number; headers: HeaderList }
  /** The payload is a piece of the answer's body. */
  | { kind: "chunk"; id: number }
  | { kind: "end"; id: number }
  /** The answer could not be made, or not to its end. */
  | { kind: "fail"; id: number; message: string };

const id = z.number().int().min(0);
const token = z.string().max(200);
const headers = z.array(z.tuple([z.string(), z.string()])).max(200);

const relayFrameSchema: z.ZodType<RelayFrame> = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("hello"), token }),
  z.strictObject({ kind: z.literal("welcome"), token }),
  z.strictObject({ kind: z.literal("request"), id, method: z.string(), path: z.string().startsWith("/"), headers }),
  z.strictObject({ kind: z.literal("cancel"), id }),
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

/** A message as bytes. */
export function encodeRelayFrame(frame: RelayFrame, payload?: Uint8Array): Uint8Array<ArrayBuffer> {
  const line = new TextEncoder().encode(JSON.stringify(frame));
  const bytes = new Uint8Array(line.length + 1 + (payload?.length ?? 0));
  bytes.set(line);
  bytes[line.length] = lineFeed;
  if (payload !== undefined) bytes.set(payload, line.length + 1);
  return bytes;
}

/** A message from bytes. @throws FormatError "relay_message" */
export function decodeRelayFrame(bytes: Uint8Array): { frame: RelayFrame; payload: Uint8Array } {
  const end = bytes.indexOf(lineFeed);
  const line = new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytes.length : end));
  try {
    const frame = relayFrameSchema.parse(JSON.parse(line));
    return { frame, payload: end < 0 ? new Uint8Array(0) : bytes.subarray(end + 1) };
  } catch (cause) {
    throw new FormatError("relay_message", `A message of ${bytes.length} bytes is none of the relay's.`, {
      do: "Use the page that this relay serves.",
      cause,
    });
  }
}
