/** Every lesson as a script, at toy size, with the real agent: its solutions are right for what it has just recorded. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { lessons } from "../../examples/lessons/lessons.ts";
import { runLeyden } from "../cli/run_leyden.ts";

const folders: string[] = [];

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "leyden-lesson-"));
  folders.push(path);
  return path;
}

afterAll(async () => {
  for (const path of folders) await rm(path, { recursive: true, force: true });
});

interface Told {
  exercise?: string;
  answer?: string | null;
  ok?: boolean | null;
  observations?: [string, ...string[]][];
  exhibit?: string;
  table?: { rows: string[][] } | null;
}

const told = (json: unknown[]): Told[] => json as Told[];

describe("leyden lesson", () => {
  it.each(lessons)("$lesson.id: every solution is right for the run", async ({ lesson }) => {
    const args = ["lesson", lesson.id, "--toy", "--solutions", "--json", "--out", join(await folder(), "runs")];
    const { code, json, err } = await runLeyden(args);
    const lines = told(json());
    const verdicts = lines.filter(({ exercise }) => exercise !== undefined);
    expect(
      verdicts.map(({ exercise, ok }) => [exercise, ok]),
      err,
    ).toEqual(lesson.exercises.map(({ key }) => [key, true]));
    expect(code).toBe(0);
    const observed = lines.find(({ observations }) => observations !== undefined)?.observations ?? [];
    expect(observed.map(([key]) => key)).toEqual(lesson.observations.map(({ key }) => key));
    for (const [key, ...values] of observed)
      expect(
        values.some((value) => value !== "–"),
        key,
      ).toBe(true);
    expect(lines.flatMap(({ exhibit }) => exhibit ?? [])).toEqual(lesson.exhibits.map(({ key }) => key));
  });

  it("refuses wrong answers, in the learner's language, and ends with 1", async () => {
    const place = await folder();
    const answers = join(place, "answers.json");
    await writeFile(answers, JSON.stringify({ wroteResult: "thePolicy", lastReward: 17, whatLearns: "itsWeights" }));
    const args = ["lesson", "1", "--toy", "--language", "ko", "--answers", answers, "--out", join(place, "runs")];
    const { code, out } = await runLeyden(args);
    expect(code).toBe(1);
    expect(out).toContain("1. 정책, 하네스, 보상");
    expect(out.match(/✗/g)).toHaveLength(2);
    expect(out.match(/✓/g)).toHaveLength(1);
  });

  it("lists the lessons, names near ones, and says what is wrong with answers", async () => {
    const listed = await runLeyden(["lesson"]);
    expect(listed.out.trim().split("\n")).toHaveLength(8);
    const near = await runLeyden(["lesson", "02-token"]);
    expect(near.code).toBe(4);
    expect(near.err).toContain('There is no lesson "02-token".\nDid you mean "02-tokens"?');
    const answers = join(await folder(), "answers.json");
    await writeFile(answers, "[1]");
    const wrong = await runLeyden(["lesson", "1", "--answers", answers]);
    expect(wrong.code).toBe(4);
    expect(wrong.err).toContain("does not hold answers by exercise");
  });
});
