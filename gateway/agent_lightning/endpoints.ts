import type { Clock } from "../../src/core/clock.ts";
import type { Store } from "../../src/schema/store.ts";
import { type ModelEndpoint, modelEndpointListSchema } from "../../src/schema/wire_proxy.ts";

/** Under which the store keeps the list. */
const noteName = "model_endpoints";

/** Registered model endpoints, by model name and address; they outlive the process in the store. */
export class Endpoints {
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly models = new Map<string, Map<string, ModelEndpoint>>();
  private loaded: Promise<void> | null = null;

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
  }

  /** Adds endpoints, or replaces those with their model and address. Resolves when that is committed. */
  async put(endpoints: readonly ModelEndpoint[]): Promise<void> {
    await this.load();
    for (const endpoint of endpoints) this.add(endpoint);
    await this.keep();
  }

  async clear(): Promise<void> {
    await this.load();
    if (this.models.size === 0) return;
    this.models.clear();
    await this.keep();
  }

  /** Names of the models that have an endpoint. */
  async names(): Promise<string[]> {
    await this.load();
    return [...this.models.keys()];
  }

  /**
   * The endpoint that serves a rollout: always the same one while the set stays, so that its cache is used. The first 8
   * bytes of SHA-256(rollout id), as one big-endian integer, modulo the number of endpoints sorted by address.
   */
  async choose(model: string, rolloutId: string): Promise<ModelEndpoint | null> {
    await this.load();
    const known = [...(this.models.get(model)?.values() ?? [])];
    if (known.length === 0) return null;
    known.sort((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(rolloutId));
    const place = new DataView(digest).getBigUint64(0) % BigInt(known.length);
    return known[Number(place)] ?? null;
  }

  private add(endpoint: ModelEndpoint): void {
    const known = this.models.get(endpoint.model) ?? new Map<string, ModelEndpoint>();
    known.set(endpoint.endpoint, endpoint);
    this.models.set(endpoint.model, known);
  }

  private load(): Promise<void> {
    this.loaded ??= this.store.noted(noteName).then(
      (note) => {
        const { data = [] } = modelEndpointListSchema.safeParse(note?.data ?? []);
        for (const endpoint of data) this.add(endpoint);
      },
      (thrown: unknown) => {
        this.loaded = null;
        throw thrown;
      },
    );
    return this.loaded;
  }

  private async keep(): Promise<void> {
    const data = [...this.models.values()].flatMap((known) => [...known.values()]);
    await this.store.append([{ type: "experiment", name: noteName, data, at: this.clock.now() / 1000 }]);
  }
}
