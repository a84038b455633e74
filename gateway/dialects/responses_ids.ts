/**
 * OpenAI Responses: ids. Every id that a reply shows carries the id of its recorded call, and so does its encrypted
 * reasoning; the recorded calls of an attempt are then all the memory that references need.
 */

/** What an id of an output item says. */
export interface ItemName {
  kind: "message" | "reasoning" | "function_call";
  callId: string;
  /** Which of the reply's tool calls; 0 for other kinds. */
  index: number;
}

const seal = "leyden-call:";

/** The id of a call's response. */
export function responseId(callId: string): string {
  return `resp_${callId}`;
}

/** The call whose response has this id; null for an id of another kind. */
export function callOfResponse(id: string): string | null {
  return /^resp_([0-9a-f]+)$/.exec(id)?.[1] ?? null;
}

/** The id of an item of a call's response. */
export function itemId({ kind, callId, index }: ItemName): string {
  if (kind === "message") return `msg_${callId}`;
  return kind === "reasoning" ? `rs_${callId}` : `fc_${callId}_${index}`;
}

/** What an item's id says; null when a harness, or another server, gave it. */
export function itemName(id: string): ItemName | null {
  const [, said, callId = ""] = /^(msg|rs)_([0-9a-f]+)$/.exec(id) ?? [];
  if (said !== undefined) return { kind: said === "msg" ? "message" : "reasoning", callId, index: 0 };
  const [, caller, index] = /^fc_([0-9a-f]+)_(\d{1,4})$/.exec(id) ?? [];
  return caller === undefined ? null : { kind: "function_call", callId: caller, index: Number(index) };
}

/** What stands for encrypted reasoning. Nothing in it is secret: it names a call that only its own attempt can use. */
export function encryptedContent(callId: string): string {
  return btoa(seal + callId);
}

/** The call that encrypted reasoning names; null when another server wrote it. */
export function callOfEncrypted(content: string): string | null {
  try {
    const text = atob(content);
    return text.startsWith(seal) ? text.slice(seal.length) : null;
  } catch {
    return null;
  }
}
