import type { Call } from "../call.ts";
import type { Numbers } from "../masked.ts";

/** Where a call's sampled tokens stand in a row. */
export interface RowCall {
  call: Call;
  /** Index in the row's response of the call's first sampled token. */
  start: number;
}

/** One linear training row: a prompt and what followed it, sampled tokens and observations alternating. */
export interface LinearRow {
  prompt: Numbers;
  response: number[];
  /** 1 on sampled tokens; same length as the response. */
  mask: number[];
  calls: RowCall[];
}

/** A row that holds one call. */
export function rowOfCall(call: Call): LinearRow {
  const response = Array.from(call.replyIds);
  return { prompt: call.promptIds, response, mask: response.map(() => 1), calls: [{ call, start: 0 }] };
}

/** Length of the row's context: prompt, observations and replies so far. */
export function rowLength(row: LinearRow): number {
  return row.prompt.length + row.response.length;
}

/** True when the row's whole context is a prefix of `ids`. */
export function isContextOf(row: LinearRow, ids: Numbers): boolean {
  const { prompt, response } = row;
  if (ids.length < rowLength(row)) return false;
  for (let t = 0; t < prompt.length; t++) if (ids[t] !== prompt[t]) return false;
  for (let t = 0; t < response.length; t++) if (ids[prompt.length + t] !== response[t]) return false;
  return true;
}

/** Appends a call whose prompt starts with the row's context: what is new in the prompt is observed, not sampled. */
export function extendRow(row: LinearRow, call: Call): void {
  for (let t = rowLength(row); t < call.promptIds.length; t++) {
    row.response.push(call.promptIds[t] as number);
    row.mask.push(0);
  }
  row.calls.push({ call, start: row.response.length });
  for (let t = 0; t < call.replyIds.length; t++) {
    row.response.push(call.replyIds[t] as number);
    row.mask.push(1);
  }
}
