/** A rollout with its calls read and linked, kept for as long as somebody looks at it. */
import { linkCalls } from "../../src/rl/trie/lineage.ts";
import { buildTrie, type Trie } from "../../src/rl/trie/trie.ts";
import { isTerminal } from "../../src/schema/rollout.ts";
import type { CallRecord, Store } from "../../src/schema/store.ts";
import type { StudioCallLine, StudioTree } from "../../src/schema/studio_api.ts";
import type { Rollout } from "../../src/schema/wire.ts";
import { DetailError } from "../http/errors.ts";
import { callLine } from "./call_view.ts";

/** A rollout and its calls, in order of writing. */
export interface RecordedRollout {
  rollout: Rollout;
  calls: readonly CallRecord[];
  lines: readonly StudioCallLine[];
  tree: StudioTree;
}

function linked(rollout: Rollout, calls: readonly CallRecord[]): RecordedRollout {
  const trieCalls = calls.map(({ id, attemptId, rolloutId, tokens }) => ({
    id,
    attempt: attemptId,
    rollout: rolloutId,
    promptIds: tokens.promptIds,
    replyIds: tokens.replyIds,
    logprobs: null,
    versions: null,
  }));
  const trie = buildTrie(trieCalls);
  const links = linkCalls(trie, trieCalls);
  const lines = calls.map((call, i) => {
    const link = links[i] as (typeof links)[number];
    return callLine(call, link, calls[link.parent]?.id ?? null);
  });
  return { rollout, calls, lines, tree: studioTree(trie, calls) };
}

/** The tree by its lengths: a drawing needs no ids. */
function studioTree(trie: Trie, calls: readonly CallRecord[]): StudioTree {
  const samples = new Map(trie.samples.map((sample) => [sample.call, sample]));
  return {
    nodes: trie.nodes.map(({ id, parent, startDepth, ids }) => ({
      id,
      parent: parent < 0 ? null : parent,
      start: startDepth,
      length: ids.length,
    })),
    calls: calls.map((call, i) => {
      const sample = samples.get(i);
      const end = trie.ends[i] ?? -1;
      const length = call.tokens.replyIds.length;
      const [node, offset] = [sample?.node ?? null, sample?.offset ?? 0];
      return { call: call.id, end: end < 0 ? null : end, node, offset, length };
    }),
  };
}

/** Rollouts kept at most. */
const kept = 4;

interface Entry {
  /** What the rollout has to be like for the entry to hold. */
  stamp: string;
  read: Promise<RecordedRollout>;
}

/** Reads rollouts, and keeps the last ones: their calls are looked at one after another. */
export class RecordedRollouts {
  private readonly store: Store;
  private readonly entries = new Map<string, Entry>();

  constructor(store: Store) {
    this.store = store;
  }

  /** @throws DetailError 404 */
  async get(id: string): Promise<RecordedRollout> {
    const rollout = await this.store.rollout(id);
    if (rollout === null) throw new DetailError(404, `Rollout not found: ${id}`);
    const { state, version, created_at: created } = rollout.status;
    // What has ended changes with a patch at most; what runs changes with anything.
    const stamp = `${created} ${version} ${isTerminal(state) ? "" : await this.store.seq()}`;
    let entry = this.entries.get(id);
    if (entry?.stamp !== stamp) {
      entry = { stamp, read: this.store.calls(id).then((calls) => linked(rollout, calls)) };
      entry.read.catch(() => this.entries.delete(id));
    }
    this.entries.delete(id);
    this.entries.set(id, entry);
    for (const oldest of [...this.entries.keys()].slice(0, -kept)) this.entries.delete(oldest);
    return entry.read;
  }

  /** A call of a rollout, with its index. @throws DetailError 404 */
  async call(id: string, callId: string): Promise<{ recorded: RecordedRollout; call: CallRecord; index: number }> {
    const recorded = await this.get(id);
    const index = recorded.calls.findIndex((call) => call.id === callId);
    const call = recorded.calls[index];
    if (call === undefined) throw new DetailError(404, `Rollout ${id} has no call ${callId}`);
    return { recorded, call, index };
  }
}
