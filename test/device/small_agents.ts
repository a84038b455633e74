import { deriveKey, seedKey } from "../../src/core/rng.ts";
import type { Engine } from "../../src/schema/engine.ts";
import { eventTypes, type Rollout } from "../../src/schema/wire.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { call } from "../store/samples.ts";

const callsPerRollout = 2;
const replyTokens = 4;

/** How long a rollout's tool takes before a call, in milliseconds. */
export type ToolTime = (rolloutId: string, call: number) => number;

/**
 * A store whose rollouts are lived as soon as they are made: two calls of an engine each, the second of which goes on from
 * the first, and a reward for small token ids.
 */
export class StoreWithAgents extends MemoryStore {
  /** Tokens of every call, by its id. */
  readonly said: Map<string, readonly (readonly number[])[]> = new Map();
  private readonly engine: Engine;
  private readonly toolMs: ToolTime;

  constructor(engine: Engine, toolMs: ToolTime) {
    super();
    this.engine = engine;
    this.toolMs = toolMs;
  }

  override async append(events: Parameters<MemoryStore["append"]>[0]): Promise<number> {
    const seq = await super.append(events);
    for (const event of events) if (event.type === "rollout_created") void this.live(event.rollout);
    return seq;
  }

  private async live({ rollout_id: rolloutId, input }: Rollout): Promise<void> {
    const running = { state: "running", last_attempt_id: "0" } as const;
    await this.append([{ type: "rollout_patched", rolloutId, patch: running, at: 0 }]);
    let prompt = [1 + (input as { number: number }).number, 2, 3];
    let small = 0;
    for (let i = 0; i < callsPerRollout; i++) {
      await new Promise((resolve) => setTimeout(resolve, this.toolMs(rolloutId, i)));
      const id = `${rolloutId}-${i}`;
      const { ids, logprobs, versions } = await this.engine.generate({
        id,
        promptIds: Int32Array.from(prompt),
        maxTokens: replyTokens,
        sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
        key: deriveKey(seedKey(1), "small agents", rolloutId, i),
        stopIds: [],
        stopStrings: [],
      });
      const tokens = { promptIds: Int32Array.from(prompt), replyIds: ids, logprobs, versions };
      this.said.set(
        id,
        [ids, logprobs, versions].map((values) => Array.from(values)),
      );
      await this.append([
        { type: "call_recorded", call: call(id, rolloutId, [], [], { tokens, delivery: "delivered" }) },
      ]);
      prompt = [...prompt, ...ids, 5 + i];
      small += ids.filter((token) => token < 20).length;
    }
    const value = small / (callsPerRollout * replyTokens);
    const event = {
      event_type: eventTypes.reward,
      rollout_id: rolloutId,
      attempt_id: "0",
      timestamp: 0,
      data: { value },
    };
    await this.append([
      { type: "event_posted", event },
      { type: "rollout_patched", rolloutId, patch: { state: "succeeded" }, at: 0 },
    ]);
  }
}
