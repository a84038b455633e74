// Plan: the text format (escapes, special numbers, empty families); what a gateway serves at /metrics, and to whom;
// responses counted; a run's last line.
import { describe, expect, it } from "vitest";
import { createApp } from "../../gateway/app.ts";
import { exposition, metricName } from "../../gateway/metrics/exposition.ts";
import { runFamilies } from "../../gateway/metrics/families.ts";
import { systemClock, systemEntropy } from "../../src/platform/clock.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { AppClient } from "./app_client.ts";
import { FakeEngine, fakeModel } from "./fake_model.ts";

describe("exposition", () => {
  it("writes names, help, types, labels and special numbers as the format wants them", () => {
    const text = exposition([
      { name: "a_total", help: "Line\none \\ two", type: "counter", samples: [{ value: 3 }] },
      { name: "empty", help: "nothing", type: "gauge", samples: [] },
      {
        name: "b",
        help: "b",
        type: "gauge",
        samples: [
          { labels: { kind: 'say "x"\\\n' }, value: Number.NaN },
          { labels: { kind: "y", z: "1" }, value: Number.NEGATIVE_INFINITY },
          { value: 1e-9 },
        ],
      },
    ]);
    expect(text).toBe(
      [
        "# HELP a_total Line\\none \\\\ two",
        "# TYPE a_total counter",
        "a_total 3",
        "# HELP b b",
        "# TYPE b gauge",
        'b{kind="say \\"x\\"\\\\\\n"} NaN',
        'b{kind="y",z="1"} -Inf',
        "b 1e-9",
        "",
      ].join("\n"),
    );
  });

  it("makes names that the format allows", () => {
    expect(metricName("timing_s/update_actor")).toBe("timing_s_update_actor");
    expect(metricName("2nd metric")).toBe("_2nd_metric");
  });
});

describe("a run's numbers", () => {
  const lines = (line: Record<string, number>): string[] =>
    exposition(runFamilies(line))
      .split("\n")
      .filter((text) => text !== "");

  it("are one family for all policies, whose names a label tells apart", () => {
    expect(lines({ "policy/a-b/training/reward": 1, "training/reward": 3, "policy/a_b/training/reward": 2 })).toEqual([
      "# HELP leyden_run_policy_training_reward training/reward of the last update of a policy, as in metrics.jsonl.",
      "# TYPE leyden_run_policy_training_reward gauge",
      'leyden_run_policy_training_reward{policy="a-b"} 1',
      'leyden_run_policy_training_reward{policy="a_b"} 2',
      "# HELP leyden_run_training_reward training/reward of the last update, as in metrics.jsonl.",
      "# TYPE leyden_run_training_reward gauge",
      "leyden_run_training_reward 3",
    ]);
  });

  it("are one family where the format makes their names the same, each series by its own name", () => {
    const found = lines({ "a/b": 1, a_b: 2, "policy/x/y/z": 3, "policy/x/y_z": 4 });
    expect(found.filter((text) => text.startsWith("# TYPE"))).toHaveLength(2);
    expect(found.filter((text) => !text.startsWith("#"))).toEqual([
      'leyden_run_a_b{name="a/b"} 1',
      'leyden_run_a_b{name="a_b"} 2',
      'leyden_run_policy_y_z{policy="x",name="policy/x/y/z"} 3',
      'leyden_run_policy_y_z{policy="x",name="policy/x/y_z"} 4',
    ]);
  });
});

describe("GET /metrics", () => {
  it.each([
    ["127.0.0.1", 200],
    ["127.8.0.1", 200],
    ["::1", 200],
    ["::ffff:127.0.0.1", 200],
    ["192.168.0.7", 401],
    ["::ffff:192.168.0.7", 401],
    ["2001:db8::1", 401],
    [null, 401],
  ])("is open to this computer, and needs the admin's key from %s: %d", async (address, status) => {
    const { app } = new AppClient();
    const ask = (headers: Record<string, string> = {}) =>
      app.fetch(new Request("http://gateway/metrics", { headers }), { address });
    expect((await ask()).status).toBe(status);
    expect((await ask({ authorization: "Bearer admin" })).status).toBe(200);
    const agents = await ask({ authorization: `Bearer ${await app.issueKey("r", "0")}` });
    expect(agents.status).toBe(status === 200 ? 200 : 403);
  });

  it("serves engine, gateway and run, every line in the format", async () => {
    const engine = new FakeEngine();
    engine.stats = async () => ({
      deviceSeconds: { prefill: 1, decode: 2.5, train: 3, optimizer: 0.25, score: 0, idle: 4 },
      promptTokens: 10,
      cachedTokens: 4,
      sampledTokens: 7,
      decodeSteps: 5,
      activeSequences: 2,
      queuedSequences: 1,
      deviceLosses: 0,
    });
    const app = createApp({
      store: new MemoryStore(),
      model: fakeModel(engine),
      clock: systemClock,
      entropy: systemEntropy,
      config: { key: "admin" },
      runMetrics: () => ({ step: 3, "training/reward": 0.5, "training/skipped": null }),
    });
    expect((await app.request("http://gateway/healthz")).status).toBe(200);
    expect((await app.request("http://gateway/api/rollouts/none")).status).toBe(401);
    const response = await app.fetch(new Request("http://gateway/metrics"), { address: "127.0.0.1" });
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const lines = (await response.text()).trimEnd().split("\n");
    const sample = /^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? -?[0-9.e+-]+$/;
    for (const line of lines) expect(line).toMatch(line.startsWith("#") ? /^# (HELP|TYPE) / : sample);
    for (const wanted of [
      'leyden_device_seconds_total{kind="decode"} 2.5',
      'leyden_device_seconds_total{kind="idle"} 4',
      'leyden_engine_sequences{state="queued"} 1',
      "leyden_sampled_tokens_total 7",
      "leyden_policy_version 1",
      "leyden_gateway_paused 0",
      'leyden_gateway_responses_total{status="200"} 1',
      'leyden_gateway_responses_total{status="401"} 1',
      "leyden_run_training_reward 0.5",
    ]) {
      expect(lines).toContain(wanted);
    }
    expect(lines.some((line) => line.includes("skipped"))).toBe(false);
  });
});
