/** Calls as stored: against a base call, with only the ids and messages that are new. */
import type { CallRecord, CallTokens, Delivery } from "../schema/store.ts";
import { StoreError } from "../schema/store_error.ts";
import { type Bodies, joinBody, type Pieces, type StoredBody, splitBody } from "./body_codec.ts";
import { concat, IdChain } from "./id_chain.ts";
import { cutTokens, restoreTokens, type TokenPlace } from "./token_places.ts";

/** What later calls of an attempt are encoded against. */
export interface Chain {
  /** Prompt ids, then reply ids. */
  ids: IdChain;
  pieces: Pieces;
}

/** The parts of a call that are stored as they are. */
export type CallFacts = Omit<
  CallRecord,
  "id" | "rolloutId" | "attemptId" | "tokens" | "request" | "response" | "delivery"
>;

/** One call in the store. */
export interface StoredCall {
  id: string;
  rolloutId: string;
  attemptId: string;
  /** The earlier call of the attempt this one is encoded against: its parent, else the last one. */
  base: string | null;
  /** Prompt ids that are the beginning of the base's prompt and reply. */
  shared: number;
  newIds: Int32Array;
  replyIds: Int32Array;
  logprobs: Float32Array;
  /** Policy versions as runs of [version, tokens]. */
  versionRuns: [number, number][];
  request: StoredBody;
  /** Reply as JSON, token ids cut out. */
  response: string;
  places: TokenPlace[];
  facts: CallFacts;
  delivery: Delivery;
}

const noPieces: Pieces = new Map();

function toRuns(versions: Int32Array): [number, number][] {
  const runs: [number, number][] = [];
  for (const version of versions) {
    const last = runs.at(-1);
    if (last?.[0] === version) last[1]++;
    else runs.push([version, 1]);
  }
  return runs;
}

function fromRuns(runs: readonly (readonly [number, number])[], length: number): Int32Array {
  const versions = new Int32Array(length);
  let at = 0;
  for (const [version, count] of runs) {
    versions.fill(version, at, at + count);
    at += count;
  }
  return versions;
}

function checkLengths(id: string, { replyIds, logprobs, versions }: CallTokens): void {
  const fits = versions.length === replyIds.length && (logprobs.length === 0 || logprobs.length === replyIds.length);
  if (fits) return;
  throw new StoreError(
    "call_malformed",
    `Call ${id} has ${replyIds.length} reply ids, ${logprobs.length} logprobs and ${versions.length} versions.`,
    "Record one logprob and one version per reply id.",
  );
}

/**
 * Encodes a call against its base, storing body pieces on the way.
 * @throws StoreError "call_malformed" for unequal lengths; "parent_mismatch" when a parent is named but the prompt does
 *   not begin with `prefixLength` ids of it.
 */
export function encodeCall(
  call: CallRecord,
  base: { id: string; chain: Chain } | null,
  bodies: Bodies,
): { stored: StoredCall; chain: Chain } {
  const { id, rolloutId, attemptId, tokens, request, response, delivery, ...facts } = call;
  checkLengths(id, tokens);
  const shared = base?.chain.ids.commonPrefix(tokens.promptIds) ?? 0;
  if (facts.parent !== null && facts.prefixLength > shared) {
    throw new StoreError(
      "parent_mismatch",
      `Call ${id} says it shares ${facts.prefixLength} ids with call ${facts.parent} but shares ${shared}.`,
      "Continue a call's prompt and reply ids verbatim, or record no parent.",
    );
  }
  const newIds = tokens.promptIds.slice(shared);
  const ids = new IdChain(base?.chain.ids ?? null, shared, concat(newIds, tokens.replyIds));
  const body = splitBody(request, base?.chain.pieces ?? noPieces, bodies);
  const cut = cutTokens(response, tokens);
  const stored: StoredCall = {
    id,
    rolloutId,
    attemptId,
    base: base?.id ?? null,
    shared,
    newIds,
    replyIds: tokens.replyIds.slice(),
    logprobs: tokens.logprobs.slice(),
    versionRuns: toRuns(tokens.versions),
    request: body.stored,
    response: JSON.stringify(cut.response ?? null),
    places: cut.places,
    facts,
    delivery,
  };
  return { stored, chain: { ids, pieces: body.pieces } };
}

/** The call again, and what later calls are decoded against; `base` is the chain of `stored.base`. */
export function decodeCall(stored: StoredCall, base: Chain | null, bodies: Bodies): { call: CallRecord; chain: Chain } {
  const { id, rolloutId, attemptId, delivery, replyIds } = stored;
  const promptIds = concat(base?.ids.first(stored.shared) ?? new Int32Array(0), stored.newIds);
  const versions = fromRuns(stored.versionRuns, replyIds.length);
  const tokens = { promptIds, replyIds: replyIds.slice(), logprobs: stored.logprobs.slice(), versions };
  const { body: request, pieces } = joinBody(stored.request, base?.pieces ?? noPieces, bodies);
  const response = restoreTokens(JSON.parse(stored.response), stored.places, tokens);
  const call: CallRecord = { id, rolloutId, attemptId, ...stored.facts, tokens, request, response, delivery };
  const ids = new IdChain(base?.ids ?? null, stored.shared, concat(stored.newIds, replyIds));
  return { call, chain: { ids, pieces } };
}
