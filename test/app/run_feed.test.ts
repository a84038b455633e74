// Plan: an update whose line is written before it has finished; a run that starts over; a run that nobody steers; what
// can be continued once a run has begun.
import { afterEach, describe, expect, it } from "vitest";
import type { PageBackend } from "../../src/app/page/backend.ts";
import { RunFeed } from "../../src/app/page/run_feed.ts";
import { idleRun, type RunStatus } from "../../src/schema/run_control.ts";

/** A gateway whose run stands where a test puts it. */
class FakeGateway {
  status: RunStatus | null = { ...idleRun, phase: "running", updates: 12 };
  lines: { step: number; "training/reward": number }[] = [];
  updated = false;
  private cursor = 0;
  readonly backend: Pick<PageBackend, "fetch"> = { fetch: (path) => this.answer(path) };

  private async answer(path: string): Promise<Response> {
    const { pathname, searchParams } = new URL(path, "http://gateway");
    const after = Number(searchParams.get("after"));
    switch (pathname.split("/").at(-1)) {
      case "choices":
        return Response.json({ choices: [{ id: "calc", resumable: this.status?.phase === "stopped" }] });
      case "changes":
        return Response.json({ cursor: ++this.cursor, rollouts: [], updated: this.updated, status: this.status });
      case "metrics":
        return Response.json({ lines: this.lines.filter(({ step }) => step > after) });
      case "control":
        return Response.json(this.status);
      default:
        return new Response(null, { status: 404 });
    }
  }
}

const line = (step: number): FakeGateway["lines"][number] => ({ step, "training/reward": step / 10 });
let feed: RunFeed | null = null;
afterEach(() => feed?.close());

/** What a page shows side by side: updates finished, and the updates whose numbers are there. */
function shown(): [update: number, lines: unknown[]] {
  const { status, lines } = feed?.view() ?? { status: null, lines: [] };
  return [status?.update ?? -1, lines.map(({ step }) => step)];
}

/** Every pair that a page was shown, in order, each once. */
function watch(): [number, unknown[]][] {
  const seen = [shown()];
  feed?.subscribe(() => {
    if (JSON.stringify(seen.at(-1)) !== JSON.stringify(shown())) seen.push(shown());
  });
  return seen;
}

describe("a page's run", () => {
  it("is not known until the gateway has told what may be started, and why it cannot be is told till then", async () => {
    const gateway = new FakeGateway();
    const refused = async () =>
      Response.json({ error: { code: "opening", message: "Not yet.", do: "" } }, { status: 503 });
    let answer: (path: string) => Promise<Response> = refused;
    const backend: Pick<PageBackend, "fetch"> = { fetch: (path) => answer(path) };
    feed = new RunFeed(backend);
    expect(feed.view()).toMatchObject({ isKnown: false, fault: null });
    await expect.poll(() => feed?.view().fault?.code).toBe("opening");
    expect(feed.view()).toMatchObject({ isKnown: false, choices: [] });
    answer = gateway.backend.fetch;
    await expect.poll(() => feed?.view(), { timeout: 10_000 }).toMatchObject({ isKnown: true, fault: null });
    expect(feed.view().choices).toHaveLength(1);
  });

  it("shows an update and its numbers at once, though its line is written before it has finished", async () => {
    const gateway = new FakeGateway();
    feed = new RunFeed(gateway.backend);
    await expect.poll(shown).toEqual([0, []]);
    const seen = watch();
    gateway.updated = true;
    gateway.lines = [line(1)];
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(shown()).toEqual([0, []]);
    gateway.status = { ...idleRun, phase: "running", updates: 12, update: 1 };
    await expect.poll(shown).toEqual([1, [1]]);
    gateway.lines = [line(1), line(2), line(3)];
    gateway.status = { ...idleRun, phase: "paused", updates: 12, update: 2 };
    await feed.control({ action: "pause" });
    expect(shown()).toEqual([2, [1, 2]]);
    expect(seen).toEqual([
      [0, []],
      [1, [1]],
      [2, [1, 2]],
    ]);
  });

  it("shows nothing of the run before when another is started over it", async () => {
    const gateway = new FakeGateway();
    gateway.lines = [line(1), line(2)];
    gateway.status = { ...idleRun, phase: "finished", updates: 2, update: 2 };
    feed = new RunFeed(gateway.backend);
    await expect.poll(shown).toEqual([2, [1, 2]]);
    gateway.status = { ...idleRun, phase: "running", updates: 2 };
    await feed.control({ action: "start", experiment: "calc" });
    expect(shown()).toEqual([0, []]);
  });

  it("shows every line where nobody steers", async () => {
    const gateway = new FakeGateway();
    gateway.status = null;
    gateway.updated = true;
    gateway.lines = [line(1), line(2)];
    feed = new RunFeed(gateway.backend);
    await expect.poll(shown).toEqual([-1, [1, 2]]);
    gateway.lines = [line(1), line(2), line(3)];
    await expect.poll(shown).toEqual([-1, [1, 2, 3]]);
  });

  it("learns that there is something to continue, whoever has started and stopped it", async () => {
    const resumable = () => feed?.view().choices.map((choice) => choice.resumable);
    const gateway = new FakeGateway();
    feed = new RunFeed(gateway.backend);
    await expect.poll(resumable).toEqual([false]);
    gateway.status = { ...idleRun, phase: "stopped", updates: 12, update: 1 };
    await feed.control({ action: "stop" });
    await expect.poll(resumable).toEqual([true]);
  });
});
