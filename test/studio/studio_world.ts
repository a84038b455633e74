/** A gateway in this process with a run to look at: a store, metrics, a model whose replies a test writes. */
import { createApp, type GatewayApp } from "../../gateway/app.ts";
import type { GatewayDeps } from "../../gateway/deps.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { RunView } from "../../src/experiment/run_view.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { ExperimentConfig } from "../../src/schema/experiment.ts";
import type { Files } from "../../src/schema/files.ts";
import { newRollout } from "../../src/schema/rollout.ts";
import type { CallRecord, Store, StoreEvent } from "../../src/schema/store.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { FakeEngine, fakeModel } from "../gateway/fake_model.ts";
import { call } from "../store/samples.ts";

export const codes = (text: string): number[] => Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));

export function configOf(train: Record<string, unknown> = {}): ExperimentConfig {
  return parseConfig({
    model: { path: "m" },
    task: { dataset: "d" },
    rollout: { command: ["agent"] },
    train: { groupSize: 2, tasksPerUpdate: 1, ...train },
  });
}

/** A call of one message and a reply in the fake model's tokens, which are UTF-16 code units. */
export function spoken(
  id: string,
  rolloutId: string,
  said: string,
  reply: string,
  change: Partial<CallRecord> = {},
): CallRecord {
  const prompt = codes(`[user]${said}[assistant]`);
  return call(id, rolloutId, prompt, [...codes(reply), 0], {
    request: { model: "policy", messages: [{ role: "user", content: said }] },
    response: { choices: [{ index: 0, message: { role: "assistant", content: reply }, finish_reason: "stop" }] },
    delivery: "delivered",
    ...change,
  });
}

/** A finished rollout of a group that said one thing. */
export function finished(id: string, group: string, reward: number | null, reply = "ok", said = "hello"): StoreEvent[] {
  const rollout = newRollout({ input: { question: said }, metadata: { task: `task of ${group}`, group } }, id, 1000);
  return [
    { type: "rollout_created", rollout },
    { type: "rollout_patched", rolloutId: id, patch: { state: "running", last_attempt_id: "0" }, at: 1001 },
    { type: "call_recorded", call: spoken(`${id}-c`, id, said, reply) },
    ...(reward === null
      ? []
      : [
          {
            type: "event_posted" as const,
            event: { event_type: "reward", rollout_id: id, attempt_id: "0", timestamp: 1002, data: { value: reward } },
          },
        ]),
    { type: "rollout_patched", rolloutId: id, patch: { state: "succeeded" }, at: 1003 },
  ];
}

export class StudioWorld {
  readonly store: Store = new MemoryStore();
  readonly files: Files = memoryFiles();
  readonly engine: FakeEngine = new FakeEngine();
  readonly faults: unknown[] = [];
  readonly app: GatewayApp;

  constructor(deps: Partial<GatewayDeps> = {}, config: ExperimentConfig | null = configOf()) {
    const { store, files } = this;
    this.app = createApp({
      store,
      model: fakeModel(this.engine),
      clock: systemClock,
      entropy: systemEntropy,
      config: { key: "admin", modelName: "policy" },
      studio: new RunView({ store, files, runFolder: "/runs/mine", name: "mine", config }),
      report: (fault) => this.faults.push(fault),
      ...deps,
    });
  }

  async send(method: string, path: string, body?: unknown, key = "admin"): Promise<{ status: number; body: never }> {
    const response = await this.app.request(`http://gateway${path}`, {
      method,
      headers: { authorization: `Bearer ${key}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as never };
  }

  get(path: string, key?: string): Promise<{ status: number; body: never }> {
    return this.send("GET", `/studio/api/${path}`, undefined, key);
  }

  post(path: string, body: unknown): Promise<{ status: number; body: never }> {
    return this.send("POST", `/studio/api/${path}`, body);
  }
}
