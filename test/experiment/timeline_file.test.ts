// Plan: what is written and read back, neighbours joined, the growing stretch left for later; what cannot be written is said.
import { expect, it } from "vitest";
import { readTimeline, TimelineFile } from "../../src/experiment/timeline_file.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { DeviceSpan } from "../../src/schema/device_timeline.ts";
import type { Engine } from "../../src/schema/engine.ts";

const span = (kind: DeviceSpan["kind"], start: number, seconds: number): DeviceSpan => ({
  kind,
  start,
  seconds,
  actions: 1,
});

function engineOf(spans: DeviceSpan[]): Engine {
  const timeline = async (after: number) => ({
    spans: spans.slice(after),
    next: Math.max(after, spans.length - 1),
    dropped: 0,
  });
  return { timeline } as unknown as Engine;
}

it("keeps what has ended, neighbours joined, and goes on where it stopped", async () => {
  const files = memoryFiles();
  const spans = [span("decode", 1, 0.5), span("decode", 1.51, 0.25), span("train", 1.77, 1), span("decode", 3, 0.1)];
  const file = new TimelineFile(files, "/run/timeline.jsonl", engineOf(spans), () => {});
  await file.note();
  spans.push(span("score", 3.2, 0.1));
  await Promise.all([file.note(), file.note()]);
  const { spans: read, dropped } = await readTimeline(files, "/run/timeline.jsonl");
  expect(read).toEqual([
    { kind: "decode", start: 1, seconds: 0.76, actions: 2 },
    { kind: "train", start: 1.77, seconds: 1, actions: 1 },
    { kind: "decode", start: 3, seconds: 0.1, actions: 1 },
  ]);
  expect(dropped).toBe(0);
  await files.append("/run/timeline.jsonl", '["decode",1');
  expect((await readTimeline(files, "/run/timeline.jsonl")).spans).toHaveLength(3);
  expect(await readTimeline(files, "/none")).toEqual({ spans: [], next: 0, dropped: 0 });
});

it("counts what was gone before it could be written", async () => {
  const files = memoryFiles();
  const timeline = async () => ({ spans: [span("decode", 5, 1), span("train", 6, 1)], next: 9, dropped: 7 });
  await new TimelineFile(files, "/t", { timeline } as unknown as Engine, () => {}).note();
  expect(await readTimeline(files, "/t")).toMatchObject({ spans: [{ kind: "decode", start: 5 }], dropped: 7 });
});

it("says that it could not write, and lets the run go on", async () => {
  const said: string[] = [];
  const files = { ...memoryFiles(), append: () => Promise.reject(new Error("disk full")) };
  const file = new TimelineFile(files, "/t", engineOf([span("decode", 1, 1), span("train", 2, 1)]), (line) =>
    said.push(line),
  );
  await file.note();
  expect(said).toEqual(["/t: disk full"]);
  await new TimelineFile(files, "/t", {} as Engine, (line) => said.push(line)).note();
  expect(said).toHaveLength(1);
});
