// Plan: access; the run; metrics of this run and of others; the table's filters and pages; groups and what another reward
// would do; the device; changes.
import { describe, expect, it } from "vitest";
import { knownStatus } from "../../src/schema/known_status.ts";
import type { RunControl, RunStatus } from "../../src/schema/run_control.ts";
import { idleRun, RunPhaseError } from "../../src/schema/run_control.ts";
import { configOf, finished, StudioWorld } from "./studio_world.ts";

const metricsLine = (step: number, more = {}) => `${JSON.stringify({ step, time: 10 + step, ...more })}\n`;

async function world(): Promise<StudioWorld> {
  const made = new StudioWorld();
  await made.store.append([
    ...finished("g0-s0", "g0", 1, "yes"),
    ...finished("g0-s1", "g0", 0, "no"),
    ...finished("g1-s0", "g1", null),
    { type: "experiment", name: "update", data: { update: 3, version: 3, groups: ["g0"] }, at: 5 },
  ]);
  return made;
}

describe("access", () => {
  it("takes the admin's key on every route, and no rollout's", async () => {
    const { app, get } = await world();
    const key = await app.issueKey("g0-s0", "0");
    const paths = ["run", "choices", "metrics", "runs", "rollouts", "rollouts/g0-s0", "rollouts/g0-s0/calls/g0-s0-c"];
    for (const path of [...paths, "groups/g0", "timeline", "changes", "snapshot", "report"]) {
      const url = `http://gateway/studio/api/${path}`;
      expect((await app.request(url)).status, path).toBe(401);
      expect((await app.request(url, { headers: { authorization: `Bearer ${key}` } })).status, path).toBe(403);
    }
    for (const path of ["control", "rollouts/g0-s0/reward", "rollouts/g0-s0/calls/g0-s0-c/fork"]) {
      expect((await app.request(`http://gateway/studio/api/${path}`, { method: "POST" })).status, path).toBe(401);
    }
    expect(get).toBeDefined();
  });
});

describe("the run", () => {
  it("is described, with what may be asked of it", async () => {
    expect(await (await world()).get("run")).toMatchObject({
      status: 200,
      body: {
        name: "mine",
        config: { train: { groupSize: 2 } },
        status: null,
        can: { control: false, start: false, fork: true, report: false },
        models: ["policy"],
      },
    });
    const none = new StudioWorld({ studio: undefined });
    expect(await none.get("run")).toEqual({ status: 404, body: { detail: "No run is served here" } });
  });

  it("is steered, and refuses in the words of who steers it", async () => {
    const asked: string[] = [];
    const status = { phase: "paused", update: 1 } as RunStatus;
    const note = (what: string) => async () => void asked.push(what);
    const control: RunControl = {
      status: () => status,
      choices: async () => [],
      start: async (request) => void asked.push(JSON.stringify(request)),
      pause: note("pause"),
      resume: note("resume"),
      step: () => Promise.reject(new RunPhaseError("step", "running", "Pause it first.")),
      stop: note("stop"),
      onChange: () => () => {},
    };
    const steered = new StudioWorld({ control });
    expect(await steered.post("control", { action: "pause" })).toEqual({ status: 200, body: status });
    await steered.post("control", { action: "start", experiment: "calc", overrides: { seed: 2 } });
    expect(asked).toEqual(["pause", '{"experiment":"calc","overrides":{"seed":2}}']);
    expect(await steered.post("control", { action: "step" })).toEqual({
      status: 409,
      body: { error: { code: "run_phase", message: "The run is running: it cannot step.", do: "Pause it first." } },
    });
    expect((await steered.post("control", { action: "fly" })).status).toBe(422);
    expect(await (await world()).post("control", { action: "pause" })).toEqual({
      status: 409,
      body: { detail: "Nobody steers this run" },
    });
  });

  it("has metrics, the last line of a step counting, and those of runs beside it", async () => {
    const made = await world();
    const { files } = made;
    await files.write(
      "/runs/mine/metrics.jsonl",
      `${metricsLine(1)}${metricsLine(2, { a: 1 })}${metricsLine(2, { a: 2 })}{"st`,
    );
    await files.write("/runs/other/metrics.jsonl", metricsLine(1, { b: 1 }));
    await files.write("/runs/other/config.json", JSON.stringify(configOf({ groupSize: 4 })));
    await files.write("/runs/empty/notes.txt", "");
    expect((await made.get("metrics?after=1")).body).toEqual({ lines: [{ step: 2, time: 12, a: 2 }] });
    expect((await made.get("runs")).body).toEqual({ runs: [{ id: "other", updates: 1 }] });
    expect((await made.get("metrics?run=other")).body).toMatchObject({
      lines: [{ step: 1, b: 1 }],
      config: { train: { groupSize: 4 } },
    });
    for (const run of ["none", "../mine", "empty", ".."]) {
      expect((await made.get(`metrics?run=${encodeURIComponent(run)}`)).status, run).toBe(404);
    }
  });
});

describe("the configuration of another run", () => {
  it("is null where none was written, and refused by its file's name where it is damaged", async () => {
    const made = await world();
    const { files } = made;
    await files.write("/runs/bare/metrics.jsonl", metricsLine(1));
    expect((await made.get("metrics?run=bare")).body).toEqual({ lines: [{ step: 1, time: 11 }], config: null });
    await files.write("/runs/bad/metrics.jsonl", metricsLine(1));
    for (const text of ['{"train":', "[]", "null", '{"train":{"groupSize":"many"}}']) {
      await files.write("/runs/bad/config.json", text);
      const { status, body } = await made.get("metrics?run=bad");
      expect([status, body], text).toEqual([
        422,
        {
          detail: expect.stringMatching(/^\/runs\/bad\/config\.json is no configuration of a run: .+ Restore the file/),
        },
      ]);
    }
    expect(made.faults).toEqual([]);
  });
});

describe("the table", () => {
  it("is filtered, sorted and cut by its query", async () => {
    const { get } = bound(await world());
    const ids = async (query: string) => ((await get(`rollouts?${query}`)).body as Page).rows.map(({ id }) => id);
    expect((await get("rollouts?limit=1&offset=1")).body).toMatchObject({
      total: 3,
      offset: 1,
      agents: ["policy"],
      rows: [{ id: "g0-s1", group: "g0", task: "task of g0", update: 3, reward: 0 }],
    });
    expect(await ids("update=3")).toEqual(["g0-s0", "g0-s1"]);
    expect(await ids("update=4")).toEqual([]);
    expect(await ids("group=g1&reward_min=")).toEqual(["g1-s0"]);
    expect(await ids("reward_min=0.5&state=succeeded,failed&agent=policy&breaks=false&mode=train")).toEqual(["g0-s0"]);
    expect(await ids("sort=reward&order=desc")).toEqual(["g0-s0", "g0-s1", "g1-s0"]);
    expect(await ids("text=S1")).toEqual(["g0-s1"]);
    for (const bad of [
      "sort=colour",
      "state=lost",
      "limit=x",
      "offset=99999999999999999999",
      "reward_min=high",
      "breaks=maybe",
      "order=up",
    ]) {
      expect((await get(`rollouts?${bad}`)).status, bad).toBe(422);
    }
  });
});

type Page = { rows: { id: string }[] };

function bound(made: StudioWorld): { get(path: string): Promise<{ status: number; body: unknown }> } {
  return { get: (path) => made.get(path) };
}

describe("groups", () => {
  it("show rewards, baseline and the run's own advantages", async () => {
    const made = await world();
    expect((await made.get("groups/g0")).body).toMatchObject({
      group: "g0",
      task: "task of g0",
      update: 3,
      estimator: "grpo",
      mean: 0.5,
      gaps: [],
      rollouts: [
        {
          id: "g0-s0",
          reward: 1,
          baseline: 0.5,
          advantage: expect.closeTo(Math.SQRT1_2, 5),
          tokens: 4,
          excluded: null,
        },
        { id: "g0-s1", reward: 0, baseline: 0.5, advantage: expect.closeTo(-Math.SQRT1_2, 5), tokens: 3 },
      ],
      calls: { "g0-s0-c": expect.closeTo(Math.SQRT1_2, 5) },
    });
    expect((await made.get("groups/none")).status).toBe(404);
  });

  it("are advanced again with another reward, and the record stays", async () => {
    const made = await world();
    const seq = await made.store.seq();
    const { body } = await made.post("rollouts/g0-s1/reward", { reward: 1 });
    expect(body).toMatchObject({
      before: { mean: 0.5, rollouts: [{ advantage: expect.closeTo(Math.SQRT1_2, 5) }, { reward: 0 }] },
      after: { mean: 1, rollouts: [{ advantage: 0 }, { reward: 1, advantage: 0 }] },
    });
    expect(await made.store.seq()).toBe(seq);
    expect(await made.post("rollouts/g0-s1/reward", { reward: "1" })).toEqual({
      status: 422,
      body: {
        detail: [{ type: "float_type", loc: ["body", "reward"], msg: "Input should be a valid number", input: "1" }],
      },
    });
    expect((await made.post("rollouts/none/reward", { reward: 1 })).status).toBe(404);
  });
});

describe("the device", () => {
  it("has what the folder keeps before what the engine still knows, and after a cursor only the latter", async () => {
    const made = await world();
    await made.files.write("/runs/mine/timeline.jsonl", '["decode",1,0.5,2]\n["train",2,1,1]\n["decode",10,1,1]\n');
    const span = { kind: "decode" as const, start: 10, seconds: 2, actions: 3 };
    Object.assign(made.engine, { timeline: async (after: number) => ({ spans: [span], next: after + 4, dropped: 0 }) });
    const { spans } = (await made.get("timeline")).body as { spans: { start: number; seconds: number }[] };
    expect(spans.map(({ start, seconds }) => [start, seconds])).toEqual([
      [1, 0.5],
      [2, 1],
      [10, 2],
    ]);
    expect((await made.get("timeline?after=4")).body).toEqual({ spans: [span], next: 8, dropped: 0 });
    const recorded = new StudioWorld({ model: null });
    expect((await recorded.get("timeline")).body).toEqual({ spans: [], next: 0, dropped: 0 });
  });
});

describe("changes", () => {
  it("are waited for, and name what happened once", async () => {
    const made = await world();
    const { cursor } = (await made.get("changes")).body as { cursor: number };
    const later = made.get(`changes?after=${cursor}&wait_seconds=20`);
    await made.store.append([
      ...finished("new", "g2", 1),
      { type: "experiment", name: "update", data: { update: 4, groups: ["g2"] }, at: 6 },
    ]);
    expect((await later).body).toMatchObject({
      rollouts: ["new"],
      updated: true,
      status: null,
      cursor: await made.store.seq(),
    });
    expect((await made.get(`changes?after=${await made.store.seq()}`)).body).toMatchObject({
      rollouts: [],
      updated: false,
    });
  });

  it("come at once when the run is not where the reader knows it to be", async () => {
    const status: RunStatus = { ...idleRun, phase: "finished", update: 2, modelOpen: true };
    const control = {
      status: () => status,
      onChange: () => () => {},
    } as unknown as RunControl;
    const made = new StudioWorld({ control });
    const cursor = await made.store.seq();
    const ask = (known: string) => made.get(`changes?after=${cursor}&wait_seconds=20&known=${known}`);
    const others = [{ phase: "running" as const }, { update: 1 }, { modelOpen: false }];
    for (const known of [...others.map((other) => knownStatus({ ...status, ...other })), knownStatus(null)]) {
      expect((await ask(known)).body).toMatchObject({ cursor, status: { phase: "finished", update: 2 } });
    }
    let isAnswered = false;
    void ask(knownStatus(status)).then(() => {
      isAnswered = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(isAnswered).toBe(false);
  });

  it("come when the run's status changes", async () => {
    let tell = () => {};
    const status = { phase: "running" } as RunStatus;
    const control = {
      status: () => status,
      onChange(told: () => void) {
        tell = told;
        return () => {};
      },
    } as RunControl;
    const made = new StudioWorld({ control });
    const waiting = made.get("changes?after=0&wait_seconds=20");
    await new Promise((resolve) => setTimeout(resolve, 20));
    status.phase = "paused";
    tell();
    expect((await waiting).body).toMatchObject({ status: { phase: "paused" }, cursor: 0 });
  });
});
