import type { ModelEndpoint } from "../../src/schema/wire_proxy.ts";

/** Registered model endpoints, by model name and address. */
export class Endpoints {
  private readonly models = new Map<string, Map<string, ModelEndpoint>>();

  /** Adds an endpoint, or replaces the one with its model and address. */
  put(endpoint: ModelEndpoint): void {
    const known = this.models.get(endpoint.model) ?? new Map<string, ModelEndpoint>();
    known.set(endpoint.endpoint, endpoint);
    this.models.set(endpoint.model, known);
  }

  clear(): void {
    this.models.clear();
  }

  has(model: string): boolean {
    return this.models.has(model);
  }

  /**
   * The endpoint that serves a rollout: always the same one while the set stays, so that its cache is used. The first 8
   * bytes of SHA-256(rollout id), as one big-endian integer, modulo the number of endpoints sorted by address.
   */
  async choose(model: string, rolloutId: string): Promise<ModelEndpoint | null> {
    const known = [...(this.models.get(model)?.values() ?? [])];
    if (known.length === 0) return null;
    known.sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(rolloutId));
    const place = new DataView(digest).getBigUint64(0) % BigInt(known.length);
    return known[Number(place)] ?? null;
  }
}
