/** What the studio's routes work with. */

import type { RolloutSummary } from "../../src/schema/rollout_summary.ts";
import type { StudioSource } from "../../src/schema/studio.ts";
import type { StudioLine } from "../../src/schema/studio_api.ts";
import type { Gateway } from "../context.ts";
import type { ServedModel } from "../deps.ts";
import { DetailError } from "../http/errors.ts";
import { RecordedRollouts } from "./recorded_rollout.ts";
import type { TokenBytes } from "./token_text.ts";

/** The studio behind its routes. */
export class Studio {
  readonly gateway: Gateway;
  readonly rollouts: RecordedRollouts;

  constructor(gateway: Gateway) {
    this.gateway = gateway;
    this.rollouts = new RecordedRollouts(gateway.store);
  }

  /** @throws DetailError 404 where no run is served */
  source(): StudioSource {
    const { studio } = this.gateway.deps;
    if (studio === undefined) throw new DetailError(404, "No run is served here");
    return studio;
  }

  /** The model that answered calls of a policy's name, where it is ours and still served. */
  model(policy: string): ServedModel | null {
    const { model, policies, others } = this.gateway.deps;
    return policies?.[policy] ?? others?.[policy] ?? model;
  }

  /** Bytes of tokens of a policy; null when nobody here knows them. */
  tokenBytes(policy: string): TokenBytes | null {
    const model = this.model(policy);
    if (model !== null) {
      const encoder = new TextEncoder();
      return (id) => model.tokenBytes?.(id) ?? encoder.encode(model.tokenText(id));
    }
    const { studio } = this.gateway.deps;
    return studio?.tokenBytes === undefined ? null : (id) => studio.tokenBytes?.(id) ?? new Uint8Array(0);
  }

  /** Lines with the updates that trained their groups. */
  async lines(rows: readonly RolloutSummary[]): Promise<StudioLine[]> {
    const updates = (await this.gateway.deps.studio?.updates()) ?? new Map<string, number>();
    return rows.map((line) => ({ ...line, update: updates.get(line.group) ?? null }));
  }
}
