/** Several policies by name: each answers its own calls with its own weights, and all of them are trained. */
import { expect, it } from "vitest";
import { createApp } from "../../gateway/app.ts";
import { adapterEngine } from "../../src/app/adapter_engine.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { FakeEngine, fakeModel } from "./fake_model.ts";

it("answers by the policy a call names, any other name by the first, and trains both", async () => {
  const engine = new FakeEngine();
  engine.script = () => "said";
  const served = fakeModel(engine);
  const store = new MemoryStore();
  const app = createApp({
    store,
    model: served,
    policies: { worker: { ...served, engine: adapterEngine(engine, "worker") } },
    clock: systemClock,
    entropy: systemEntropy,
    config: { key: "", modelName: "planner" },
  });
  const post = (path: string, body: unknown) =>
    app.request(`http://x${path}`, { method: "POST", body: JSON.stringify(body) });
  await post("/api/rollouts", [{ rollout_id: "r", input: 1 }]);
  for (const model of ["planner", "worker", "gpt-5"]) {
    const body = { model, top_p: 0.5, messages: [{ role: "user", content: model }] };
    expect((await post("/r/r/0/train/v1/chat/completions", body)).status).toBe(200);
  }
  const calls = await store.calls("r");
  expect(calls.map(({ policy, own, mode }) => [policy, own, mode])).toEqual([
    ["planner", true, "train"],
    ["worker", true, "train"],
    ["planner", true, "train"],
  ]);
  expect(engine.requests.map(({ adapter, sampling }) => [adapter, sampling.topP])).toEqual([
    [undefined, 1],
    ["worker", 1],
    [undefined, 1],
  ]);
});
