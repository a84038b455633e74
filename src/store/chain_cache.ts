import type { Bodies } from "./body_codec.ts";
import { type Chain, decodeCall, type StoredCall } from "./call_codec.ts";

/** The chains of recently written or read calls, so that appending to a conversation does not read it again. */
export class ChainCache {
  private readonly chains = new Map<string, Chain>();
  private ids = 0;
  private readonly maxIds: number;

  /** Keeps chains of `maxIds` token ids of their own in total, the least recently used leave first. */
  constructor(maxIds = 8_000_000) {
    this.maxIds = maxIds;
  }

  get(callId: string): Chain | undefined {
    const chain = this.chains.get(callId);
    if (!chain) return undefined;
    this.chains.delete(callId);
    this.chains.set(callId, chain);
    return chain;
  }

  set(callId: string, chain: Chain): void {
    this.delete(callId);
    this.chains.set(callId, chain);
    this.ids += costOf(chain);
    for (const oldest of this.chains.keys()) {
      if (this.ids <= this.maxIds) break;
      this.delete(oldest);
    }
  }

  delete(callId: string): void {
    const chain = this.chains.get(callId);
    if (chain) this.ids -= costOf(chain);
    this.chains.delete(callId);
  }
}

/** Ids that a chain holds by itself, and the room of some hundred for all else of it. */
function costOf({ ids }: Chain): number {
  return ids.ownLength + 300;
}

/** The chain of a stored call, decoded from the nearest base whose chain is cached. */
export function chainOf(id: string, load: (id: string) => StoredCall, cache: ChainCache, bodies: Bodies): Chain {
  const pending: StoredCall[] = [];
  let chain: Chain | null = null;
  for (let at: string | null = id; at !== null; ) {
    chain = cache.get(at) ?? null;
    if (chain) break;
    const stored = load(at);
    pending.push(stored);
    at = stored.base;
  }
  for (const stored of pending.reverse()) chain = decodeCall(stored, chain, bodies).chain;
  cache.set(id, chain as Chain);
  return chain as Chain;
}
