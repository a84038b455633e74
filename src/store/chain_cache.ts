import type { Bodies } from "./body_codec.ts";
import { type Chain, decodeCall, type StoredCall } from "./call_codec.ts";

/** The chains of recently written or read calls, so that appending to a conversation does not read it again. */
export class ChainCache {
  private readonly chains = new Map<string, Chain>();
  private ids = 0;
  private readonly maxIds: number;

  /** Keeps chains of `maxIds` token ids in total, the least recently used leave first. */
  constructor(maxIds = 4_000_000) {
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
    this.ids += chain.ids.length;
    for (const [oldest] of this.chains) {
      if (this.ids <= this.maxIds) break;
      this.delete(oldest);
    }
  }

  delete(callId: string): void {
    this.ids -= this.chains.get(callId)?.ids.length ?? 0;
    this.chains.delete(callId);
  }
}

/** The chain of a stored call, decoded from the nearest base whose chain is cached. */
export function chainOf(call: StoredCall, load: (id: string) => StoredCall, cache: ChainCache, bodies: Bodies): Chain {
  const pending: StoredCall[] = [];
  let at: StoredCall | null = call;
  let chain: Chain | null = null;
  while (at) {
    chain = cache.get(at.id) ?? null;
    if (chain) break;
    pending.push(at);
    at = at.base === null ? null : load(at.base);
  }
  for (const stored of pending.reverse()) chain = decodeCall(stored, chain, bodies).chain;
  cache.set(call.id, chain as Chain);
  return chain as Chain;
}
