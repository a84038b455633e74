// Every phase is asked what can be done in it: a new phase has to be answered for.
import { expect, it } from "vitest";
import { isAlive, isAtWork, isExportable, isOver, isStoppable, type RunPhase } from "../../src/schema/run_control.ts";

const questions = { isAtWork, isStoppable, isAlive, isExportable, isOver };
const answers: Readonly<Record<RunPhase, readonly (keyof typeof questions)[]>> = {
  idle: ["isExportable"],
  opening: ["isAtWork", "isStoppable", "isAlive"],
  running: ["isAtWork", "isStoppable", "isAlive"],
  paused: ["isStoppable", "isAlive", "isExportable"],
  stopping: ["isAlive"],
  stopped: ["isExportable", "isOver"],
  finished: ["isExportable", "isOver"],
  failed: ["isExportable", "isOver"],
};

it.each(Object.entries(answers))("a run that is %s", (phase, expected) => {
  const yes = Object.entries(questions).filter(([, ask]) => ask(phase as RunPhase));
  expect(yes.map(([name]) => name)).toEqual(expected);
});
