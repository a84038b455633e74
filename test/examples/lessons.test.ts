/** The lessons: their form, their texts in both languages, and what their checks take and refuse. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { commonTexts, lessonMinutes, lessons, teacherTexts } from "../../examples/lessons/lessons.ts";
import { experimentsOf } from "../../src/app/lesson/experiments.ts";
import { filledTexts } from "../../src/app/lesson/filled_texts.ts";
import { parseConfig, withOverrides } from "../../src/experiment/config.ts";
import { expressionFault } from "../../src/rollout/graders/expression_language.ts";
import {
  type Exercise,
  type Lesson,
  type LessonRun,
  type LessonRuns,
  lessonLanguages,
  lessonSchema,
} from "../../src/schema/lesson.ts";
import { call, rollout, run, unevenGroup } from "./lesson_runs.ts";
import { exampleFolder } from "./run_example.ts";

const byId = new Map(lessons.map((published) => [published.lesson.id, published.lesson]));
const lessonOf = (id: string): Lesson => byId.get(id) as Lesson;

function exerciseOf(id: string, key: string): Exercise {
  const found = lessonOf(id).exercises.find((exercise) => exercise.key === key);
  if (found === undefined) throw new Error(`${id} has no exercise ${key}`);
  return found;
}

/** Every text that a lesson shows, but for columns. */
function textKeys({ parts, experiments, observations, curves, exhibits, exercises }: Lesson): string[] {
  const named = [...experiments, ...observations, ...curves, ...exhibits].map(({ key }) => key);
  const asked = exercises.flatMap((exercise) => [
    ...[exercise.key, `${exercise.key}Right`, `${exercise.key}Wrong`],
    ...(exercise.kind === "choice" ? exercise.options : []),
  ]);
  return ["title", "question", "look", ...parts, ...named, ...asked];
}

const measured = { "training/reward": 0.5, "device/decode_s": 1, "device/prefill_s": 1, "device/train_s": 1 };

/** A run that every exhibit shows something of. */
const plain: LessonRun = run(
  [
    [...unevenGroup("x"), rollout("e", 1, [call("e", [1, 3], [4, 5], { encodedIds: [45], text: "answer 3" })])],
    [...unevenGroup("y"), rollout("f", 0.8, [call("f", [1, 3], [4, 6], { text: "answer 9" })])],
  ],
  [measured, { ...measured, "timing_s/step": 4, "device/idle_s": 1 }],
);
const everyRun = (lesson: Lesson): LessonRuns =>
  Object.fromEntries([...lesson.experiments, ...lesson.exercises].map(({ key }) => [key, plain]));

const columnsOf = (lesson: Lesson): string[] =>
  lesson.exhibits.flatMap(({ show }) => show(everyRun(lesson))?.columns ?? []);

describe("the lessons", () => {
  it("are eight, in order, of the right form", () => {
    expect(lessons.map(({ lesson }) => lesson.number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    for (const { lesson } of lessons) {
      expect(lessonSchema.parse(lesson)).toBeTruthy();
      expect(lesson.id).toMatch(new RegExp(`^0${lesson.number}-`));
    }
  });

  it.each(lessons)("$lesson.id: every text is there in both languages, and no other", ({ lesson, texts }) => {
    const shown = columnsOf(lesson);
    expect(shown.length > 0).toBe(lesson.exhibits.length > 0);
    const wanted = new Set([...textKeys(lesson), ...shown]);
    for (const language of lessonLanguages) expect(new Set(Object.keys(texts[language]))).toEqual(wanted);
    for (const key of wanted) {
      expect(texts.en[key]?.trim(), key).toBeTruthy();
      expect(texts.ko[key]?.trim(), key).toBeTruthy();
      expect(Object.keys(commonTexts.en), key).not.toContain(key);
    }
  });

  it.each(lessons)("$lesson.id: sentences are Korean in Korean, and code is the same", ({ texts }) => {
    const codeIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code).sort();
    for (const [key, english] of Object.entries(texts.en)) {
      const korean = texts.ko[key] ?? "";
      if (english.split(" ").length > 3) expect(korean, key).toMatch(/[가-힣]/);
      expect(new Set(codeIn(korean)), key).toEqual(new Set(codeIn(english)));
    }
  });

  it.each([commonTexts, teacherTexts])("have texts around them in both languages", (texts) => {
    expect(Object.keys(texts.ko)).toEqual(Object.keys(texts.en));
    for (const text of Object.values(texts.ko)) expect(text).toMatch(/[가-힣]/);
  });

  it("have a word for teachers each", () => {
    for (const { lesson } of lessons) {
      expect(lessonMinutes[lesson.number]).toBeGreaterThan(0);
      for (const kind of ["stumble", "discuss"]) expect(teacherTexts.en).toHaveProperty(`${kind}0${lesson.number}`);
    }
  });

  it.each(lessons)(
    "$lesson.id: what its texts say of its runs is read off them, at both sizes",
    ({ lesson, texts }) => {
      const placesIn = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, place = ""]) => place);
      const wanted = new Set((lesson.places ?? []).map(({ key }) => key));
      for (const { experiment } of lesson.places ?? []) {
        expect(lesson.experiments.map(({ key }) => key)).toContain(experiment);
      }
      for (const language of lessonLanguages) {
        expect(new Set(lesson.parts.flatMap((part) => placesIn(texts[language][part] ?? "")))).toEqual(wanted);
        for (const toy of [false, true]) {
          const filled = filledTexts(lesson, texts[language], toy);
          expect(Object.values(filled).flatMap(placesIn)).toEqual([]);
          // Runs of both sizes can stand side by side: neither their names nor their exercises tell of one size.
          for (const [key, text] of Object.entries(filled))
            if (!lesson.parts.includes(key)) expect(text).toBe(texts[language][key]);
        }
      }
    },
  );

  it.each([
    ["01-policy", "loop", false, "let 8 rollouts", "this run has 12.", "롤아웃 8개가", "12번 합니다"],
    ["01-policy", "loop", true, "let 4 rollouts", "this run has 2.", "롤아웃 4개가", "2번 합니다"],
    ["06-staleness", "waiting", false, "on purpose: 3 seconds", "", "계산기를 3초씩", ""],
    ["06-staleness", "waiting", true, "on purpose: 0.5 seconds", "", "계산기를 0.5초씩", ""],
    ["07-schedule", "oneDevice", true, "takes 0.4 seconds", "", "계산기가 0.4초씩", ""],
  ])("%s tells of its runs in %s, tiny: %s", (id, part, toy, ...[first, second, korean, koreanToo]) => {
    const { lesson, texts } = lessons.find((published) => published.lesson.id === id) as (typeof lessons)[number];
    const [en, ko] = [filledTexts(lesson, texts.en, toy)[part], filledTexts(lesson, texts.ko, toy)[part]];
    for (const words of [first, second]) expect(en).toContain(words);
    for (const words of [korean, koreanToo]) expect(ko).toContain(words);
  });

  it.each(lessons)("$lesson.id: every experiment is a configuration, at both sizes", ({ lesson }) => {
    const base = JSON.parse(readFileSync(`${exampleFolder("lessons/clerk")}config.json`, "utf8"));
    for (const toy of [false, true]) {
      for (const { overrides } of experimentsOf(lesson, { toy, solves: true, answers: {} })) {
        const settings = Object.entries(overrides).map(([path, value]) => `${path}=${JSON.stringify(value)}`);
        const { train, rollout: settled } = parseConfig(withOverrides(base, settings));
        expect(train.updates * train.tasksPerUpdate * train.groupSize).toBeLessThanOrEqual(toy ? 24 : 384);
        if (settled.grader === "expression") expect(expressionFault(String(settled.graderOptions.reward))).toBeNull();
      }
    }
  });

  it.each(lessons)("$lesson.id: checks wait for runs, take solutions and refuse other answers", ({ lesson }) => {
    for (const exercise of lesson.exercises) {
      const { key, kind } = exercise;
      if (kind === "choice") {
        const right = exercise.options.filter((option) => exercise.check(option, {}).ok);
        expect(right, key).toEqual([exercise.solution({})]);
      } else expect(exercise.check("1", {}), key).toEqual({ ok: false, feedback: "runFirst" });
      if (kind !== "number") continue;
      const runs = everyRun(lesson);
      const solution = exercise.solution(runs);
      expect(exercise.check(solution, runs), key).toEqual({ ok: true, feedback: `${key}Right` });
      expect(exercise.check(` ${solution.replace(".", ",")} `, runs).ok, key).toBe(true);
      expect(exercise.check(String(Number(solution) + 1), runs), key).toEqual({ ok: false, feedback: `${key}Wrong` });
      for (const text of ["", "much", "1e999", "0x"]) {
        expect(exercise.check(text, runs), key).toEqual({ ok: false, feedback: "typeNumber" });
      }
    }
  });
});

describe("what the exercises ask for", () => {
  it("01: counts the paid rollouts of the first update, and the last reward", () => {
    const runs = {
      run: run([unevenGroup("a"), unevenGroup("b")], [{ "training/reward": 0.25 }, { "training/reward": 0.75 }]),
    };
    expect(exerciseOf("01-policy", "paidFirst").solution(runs)).toBe("1");
    expect(exerciseOf("01-policy", "lastReward").solution(runs)).toBe("0.75");
  });

  it("02: counts replies of two spellings, and takes a harness without breaks", () => {
    const same = call("a", [1], [42]);
    const drifted = call("b", [1], [4, 5], { encodedIds: [42] });
    const cutOff = { ...call("c", [1], [42]), replyIds: [42], stopped: false };
    const broken = call("d", [1], [42], { breakReason: "edited" });
    const continued = call("e", [1, 42, 2, 3], [42], { parent: "a", prefixLength: 3 });
    const runOf = (...calls: (typeof same)[]) => run([[rollout("r", 1, calls)]]);
    expect(exerciseOf("02-tokens", "countDrift").solution({ faithful: runOf(same, drifted, cutOff) })).toBe("1");
    const repair = exerciseOf("02-tokens", "repair");
    expect(repair.check("", { repair: runOf(same, continued) })).toEqual({ ok: true, feedback: "repairRight" });
    expect(repair.check("", { repair: runOf(same, broken) })).toEqual({ ok: false, feedback: "repairWrong" });
    expect(repair.check("", { repair: runOf(same, same) }).ok).toBe(false);
  });

  it("03: two chats that take turns are two branches and four rows", () => {
    const [a1, b1] = [call("a1", [1], [5]), call("b1", [3], [6])];
    const a2 = call("a2", [1, 5, 2, 9], [7], { parent: "a1", prefixLength: 3 });
    const b2 = call("b2", [3, 6, 2, 9], [8], { parent: "b1", prefixLength: 3 });
    const turns = { two: run([[rollout("r", 1, [a1, b1, a2, b2])]]) };
    expect(exerciseOf("03-samples", "countBranches").solution(turns)).toBe("2");
    expect(exerciseOf("03-samples", "countRows").solution(turns)).toBe("4");
    const inOrder = { two: run([[rollout("r", 1, [a1, a2, b1, b2])]]) };
    expect(exerciseOf("03-samples", "countRows").solution(inOrder)).toBe("2");
  });

  it("04: the baseline counts every rollout once, or every call", () => {
    const runs = { perRollout: run([unevenGroup("a")]) };
    expect(exerciseOf("04-advantage", "baselineRollouts").solution(runs)).toBe("0.25");
    expect(exerciseOf("04-advantage", "baselineSamples").solution(runs)).toBe((2 / 9).toFixed(2));
    // Advantages 0.75 and -0.25 over their deviation, by 6 tokens of the success and 21 of the failures.
    const mass = (0.75 * 6 - 0.25 * 21) / (0.75 * 6 + 0.25 * 21);
    expect(exerciseOf("04-advantage", "massMixed").solution(runs)).toBe(mass.toFixed(2));
  });

  it("05: the signed mass by tokens, and a balance in every update", () => {
    const mass = (0.75 * 6 - 0.25 * 21) / (0.75 * 6 + 0.25 * 21);
    expect(exerciseOf("05-normalisation", "massPerToken").solution({ perRollout: run([unevenGroup("a")]) })).toBe(
      mass.toFixed(2),
    );
    const balance = exerciseOf("05-normalisation", "balance");
    const withMasses = (...masses: number[]) =>
      run(
        masses.map(() => []),
        masses.map((value) => ({ "training/signed_mass": value })),
      );
    expect(balance.check("", { balance: withMasses(0, -1e-9) }).ok).toBe(true);
    expect(balance.check("", { balance: withMasses(0, -0.1) }).ok).toBe(false);
    expect(balance.check("", { balance: run([]) }).ok).toBe(false);
  });

  it("06: ages count from the version that an update began with", () => {
    const aged = (version: number) =>
      rollout(`v${version}`, 1, [call(`c${version}`, [1], [5], { versions: [version, version] })]);
    const old = run([[aged(0)], [aged(0)], [aged(0), aged(2)]]);
    expect(exerciseOf("06-staleness", "oldestNumber").solution({ old })).toBe("2");
    const skipped = run([[aged(0)], [aged(0)]], [{ version: 0 }, { version: 1 }]);
    expect(exerciseOf("06-staleness", "oldestNumber").solution({ old: skipped })).toBe("0");
    const bound = exerciseOf("06-staleness", "boundAge");
    expect(bound.check("", { boundAge: run([[aged(0)], [aged(0)]]) }).ok).toBe(true);
    expect(bound.check("", { boundAge: old }).ok).toBe(false);
    expect(bound.check("", { boundAge: run([]) }).ok).toBe(false);
  });

  it("07: the idle share leaves the first update out; no age is no age", () => {
    const metrics = [
      { "timing_s/step": 100, "device/idle_s": 99 },
      { "timing_s/step": 4, "device/idle_s": 1 },
      { "timing_s/step": 4, "device/idle_s": 3 },
    ];
    expect(exerciseOf("07-schedule", "idleSync").solution({ sync: run([[], [], []], metrics) })).toBe("0.50");
    const aged = (age: number) => ({ noAge: run([[]], [{ "training/async/group_age_max_steps": age }]) });
    expect(exerciseOf("07-schedule", "noAge").check("", aged(0)).ok).toBe(true);
    expect(exerciseOf("07-schedule", "noAge").check("", aged(1)).ok).toBe(false);
  });

  it("08: the gap between what was paid and what was right, and a reward that pays only what is right", () => {
    const said = (id: string, reward: number, text: string) => rollout(id, reward, [call(id, [1], [5], { text })]);
    const hole = run([[said("a", 0.8, "answer 9"), said("b", 0.6, "answer 3")]], [{ "training/reward": 0.7 }]);
    expect(exerciseOf("08-hacking", "gap").solution({ hole })).toBe("0.20");
    const close = exerciseOf("08-hacking", "closeHole");
    const closing = (...rollouts: ReturnType<typeof said>[]) => close.check("", { closeHole: run([rollouts]) }).ok;
    expect(closing(said("a", 0, "answer 9"), said("b", 0.6, "answer 3"))).toBe(true);
    expect(closing(said("a", 0.8, "answer 9"), said("b", 0.6, "answer 3"))).toBe(false);
    expect(closing(said("a", 0, "answer 9"), said("b", 0, "answer 3"))).toBe(false);
    expect(closing(said("a", 0.5, "answer 3 4"))).toBe(false);
    expect(closing()).toBe(false);
  });
});
