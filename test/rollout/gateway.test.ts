/**
 * Controller, gateway and the calc agent together over HTTP: the agent is a process of its own, the model a stub that
 * the gateway forwards to. Once with the store in process, once with a controller that only has HTTP.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { dataset } from "../../examples/calc/tasks.ts";
import { createApp } from "../../gateway/app.ts";
import { serveNode } from "../../gateway/serve_node.ts";
import { prepareAgent } from "../../src/app/prepare_agent.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { awaitRollouts } from "../../src/rollout/await_rollouts.ts";
import { bindGrader } from "../../src/rollout/graders/registry.ts";
import { HttpClient } from "../../src/rollout/http_client.ts";
import { StoreClient } from "../../src/rollout/store_client.ts";
import type { RolloutClient } from "../../src/schema/rollout_client.ts";
import { eventTypes } from "../../src/schema/wire.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { stubModel } from "../examples/stub_model.ts";
import { Rig, tempFolder } from "./rig.ts";

const folder = new URL("../../examples/calc/", import.meta.url).pathname;
const key = "admin-key";

async function gatewayWithModel() {
  const task = dataset.train(1).at(0);
  const model = await stubModel([
    { calls: [{ arguments: '{"expression": "1+1"}' }] },
    { content: `The answer is ${task.hidden.answer}.` },
  ]);
  const store = new MemoryStore();
  const config = { key, modelName: "policy" };
  const app = createApp({ store, model: null, clock: systemClock, entropy: systemEntropy, config, fetch });
  const served = await serveNode(app, { host: "127.0.0.1", port: 0 });
  onTestFinished(() => served.close(100));
  const body = JSON.stringify([{ model: "policy", endpoint: model.url, version: 3 }]);
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  await fetch(`${served.url}/api/models`, { method: "POST", headers, body });
  const created = JSON.stringify([{ rollout_id: "r1", input: task.input, hidden: task.hidden }]);
  const create = () => fetch(`${served.url}/api/rollouts`, { method: "POST", headers, body: created });
  return { store, app, url: served.url, create };
}

async function run(client: RolloutClient, create: () => Promise<unknown>) {
  const context = { files: nodeFiles, folder, cacheFolder: tempFolder(), say: () => undefined };
  const agent = await prepareAgent(
    { command: ["node", "agent.ts", "{input.question}"] },
    `${folder}prepare.ts`,
    context,
  );
  const rig = new Rig({ agent, reward: "grader", grader: bindGrader("numeric", {}), wrap: () => client });
  rig.start();
  await create();
  const outcome = await rig.outcome("r1");
  return { outcome, rollout: await client.get("r1"), events: await client.events("r1", outcome.attemptId) };
}

describe("controller, gateway and agent", () => {
  it("run a rollout to its reward, in one process", async () => {
    const { store, app, url, create } = await gatewayWithModel();
    const keyOf = (rolloutId: string, attemptId: string) => app.issueKey(rolloutId, attemptId);
    const { waitingCalls } = app;
    const client = new StoreClient({ store, clock: systemClock, gatewayUrl: url, keyOf, waitingCalls });
    const { outcome, rollout, events } = await run(client, create);
    expect(outcome).toMatchObject({ state: "succeeded", reward: { value: 1, source: "grader", reason: "match" } });
    expect(rollout?.status).toMatchObject({ state: "succeeded", last_attempt_id: "0" });
    const { modelRequest, reward } = eventTypes;
    expect(events.map((event) => event.event_type)).toEqual([modelRequest, modelRequest, reward]);
  });

  it("do so with a controller that only has HTTP", async () => {
    const { url, create } = await gatewayWithModel();
    const client = new HttpClient({
      fetch,
      clock: systemClock,
      gatewayUrl: url,
      key,
      dialects: "all",
      pollMs: 20,
    });
    const { outcome, events } = await run(client, create);
    expect(outcome).toMatchObject({ state: "succeeded", reward: { value: 1 } });
    expect(events).toHaveLength(3);
    const finished: unknown[] = [];
    const signal = new AbortController().signal;
    const onFinished = (id: string) => finished.push(id);
    await awaitRollouts(client, ["r1"], { clock: systemClock, signal, noRunnerMs: 0, onFinished });
    expect(finished).toEqual(["r1"]);
  });
});
