/** A lesson, a tab's gateway and a browser's database, for tests of the way through a lesson. */
import { type KeptValues, LessonMemory } from "../../src/app/page/lessons/lesson_memory.ts";
import { LessonSession } from "../../src/app/page/lessons/lesson_session.ts";
import { tabExperiment } from "../../src/app/tab/experiments.ts";
import { parseConfig, withOverrides } from "../../src/experiment/config.ts";
import type { ExperimentConfig } from "../../src/schema/experiment.ts";
import { knownStatus } from "../../src/schema/known_status.ts";
import { type Exercise, type Lesson, type LessonExperiment, lessonExperimentId } from "../../src/schema/lesson.ts";
import { idleRun, isAlive, type RunPhase, type RunStatus } from "../../src/schema/run_control.ts";

const base = tabExperiment(lessonExperimentId).config;
/** The lessons' configuration with other values. */
export const configOf = (overrides: Readonly<Record<string, unknown>>): ExperimentConfig =>
  parseConfig(
    withOverrides(
      base,
      Object.entries(overrides).map(([path, value]) => `${path}=${JSON.stringify(value)}`),
    ),
  );

/** Another learning rate, which is run. */
export const edit: Exercise = {
  key: "faster",
  kind: "edit-config",
  from: "run",
  path: "train.learningRate",
  initial: "0.001",
  check: (answer, { faster }) => ({ ok: answer === "0.002" && faster !== undefined, feedback: "fasterRight" }),
  solution: () => "0.002",
};
/** One of two. */
export const choice: Exercise = {
  key: "who",
  kind: "choice",
  options: ["model", "harness"],
  check: (answer) => ({ ok: answer === "harness", feedback: "whoRight" }),
  solution: () => "harness",
};
/** Its run. */
export const experiment: LessonExperiment = { key: "run", overrides: { "train.updates": 3 } };
/** One run, and an exercise of each kind. */
export const lesson: Lesson = {
  id: "01-policy",
  number: 1,
  parts: ["loop"],
  experiments: [experiment],
  toy: { "train.updates": 2 },
  observations: [],
  curves: [],
  exhibits: [],
  exercises: [choice, edit],
};

/** A tab's gateway whose run stands where a test puts it; before the first one there is none. */
export class FakeGateway {
  status: RunStatus = idleRun;
  /** What may be started. */
  choices: readonly { id: string }[] = [{ id: lessonExperimentId }];
  /** What was asked of the run, in turn. */
  readonly asked: string[] = [];
  /** Without a model, tokens have no text. */
  hasModel = true;
  /** False between two runs: what the last one left is closed, the next one not open. */
  hasStore = true;
  private cursor = 0;
  private waiting: (() => void)[] = [];

  readonly ask = async (path: string, init?: RequestInit): Promise<Response> => {
    const { pathname, searchParams } = new URL(path, "http://gateway");
    switch (pathname) {
      case "/studio/api/run":
        return this.status.phase === "idle"
          ? Response.json({ detail: "No run is served here" }, { status: 404 })
          : Response.json({ can: { start: true }, status: this.status });
      case "/studio/api/choices":
        return Response.json({ choices: this.choices });
      case "/studio/api/changes":
        return await this.changes(searchParams);
      case "/studio/api/metrics":
        return Response.json({ lines: Array.from({ length: this.status.update }, (_, i) => ({ step: i + 1 })) });
      case "/lesson/api/groups":
        return this.hasModel ? Response.json([]) : Response.json({ detail: "no model" }, { status: 404 });
      default:
        return this.control(JSON.parse(String(init?.body)));
    }
  };

  put(phase: RunPhase, part: Partial<RunStatus> = {}): void {
    this.status = { ...this.status, phase, ...part };
    this.cursor += 1;
    this.tire();
  }

  /** Questions that wait are answered without news. */
  tire(): void {
    for (const answer of this.waiting.splice(0)) answer();
  }

  /** The page is gone, and what it asked is never answered; the tab shows what is left. */
  reload(left: Partial<RunStatus>): void {
    this.waiting = [];
    this.status = { ...this.status, ...left };
  }

  private async changes(query: URLSearchParams): Promise<Response> {
    if (!this.hasStore) return this.closed();
    const isNews = Number(query.get("after")) < 0 || query.get("known") !== knownStatus(this.status);
    if (!isNews && query.get("wait_seconds") !== "0") {
      await new Promise<void>((resolve) => {
        this.waiting.push(resolve);
      });
    }
    if (!this.hasStore) return this.closed();
    return Response.json({ cursor: this.cursor, rollouts: [], updated: false, status: this.status });
  }

  private closed(): Response {
    const error = { code: "store_closed", message: "The store is closed.", do: "Open it again." };
    return Response.json({ error }, { status: 503 });
  }

  private control({ action, overrides = {} }: { action: string; overrides?: Record<string, unknown> }): Response {
    this.asked.push(action);
    if (action === "stop") this.put("stopped");
    else {
      if (isAlive(this.status.phase)) {
        const error = { code: "run_phase", message: "The run is running: it cannot be started.", do: "Stop it first." };
        return Response.json({ error }, { status: 409 });
      }
      const config = configOf(overrides);
      this.put("running", { experiment: lessonExperimentId, config, update: 0, updates: config.train.updates });
    }
    return Response.json(this.status);
  }
}

/** A browser's database: what is put there is a copy. */
export function database(): KeptValues {
  const values = new Map<string, unknown>();
  return {
    get: async (key) => structuredClone(values.get(key)),
    set: async (key, value) => void values.set(key, structuredClone(value)),
    del: async (key) => void values.delete(key),
  };
}

/** A page that shows the lesson, over a gateway and a database that it finds. */
export function openLesson(gateway: FakeGateway, values: KeptValues, shown: Lesson = lesson): LessonSession {
  const session = new LessonSession(shown, gateway.ask, new LessonMemory(values));
  void session.look();
  return session;
}
