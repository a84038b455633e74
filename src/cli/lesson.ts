import { fileURLToPath } from "node:url";
import { commonTexts, lessons, type PublishedLesson } from "../../examples/lessons/lessons.ts";
import { readAnswers } from "../app/lesson/answers.ts";
import { experimentsOf } from "../app/lesson/experiments.ts";
import { filledTexts } from "../app/lesson/filled_texts.ts";
import { LessonReport } from "../app/lesson/report.ts";
import { runLessonExperiment } from "../app/lesson/run_lesson.ts";
import { didYouMean } from "../core/nearest.ts";
import type { LessonLanguage, LessonRun } from "../schema/lesson.ts";
import { UsageError } from "./args.ts";
import type { Command, CommandContext } from "./command.ts";
import { LiveTable } from "./progress.ts";

/** `leyden lesson`: one of the lessons as a script. */
export const command: Command = {
  name: "lesson",
  summary: "Runs a lesson: its question, its experiments, what to look at, and its exercises.",
  positionals: { usage: "[LESSON]", min: 0, max: 1 },
  options: {
    language: { kind: "text", value: "LANG", summary: "Language of the texts.", choices: ["en", "ko"], fallback: "en" },
    answers: { kind: "text", value: "FILE", summary: 'Answers to check: JSON such as {"lastReward": "0.9"}.' },
    solutions: { kind: "flag", summary: "Answer every exercise by its solution: for teachers." },
    toy: { kind: "flag", summary: "A look within seconds: tiny runs, in which hardly anything is learnt." },
    out: { kind: "text", value: "DIR", summary: "Folder for the runs; default runs/lesson-<time>." },
  },
  run: runLesson,
};

async function runLesson(context: CommandContext): Promise<number> {
  const { args, platform } = context;
  const language = args.requireText("language") as LessonLanguage;
  const [name] = args.positionals;
  if (name === undefined) return list(context, language);
  const { lesson, texts } = find(name);
  const answers = args.has("answers") ? await readAnswers(platform.files, args.requireText("answers")) : {};
  const toy = args.flag("toy");
  const spoken = { ...commonTexts[language], ...filledTexts(lesson, texts[language], toy) };
  const report = new LessonReport(lesson, spoken, context);
  report.opening();
  const stamp = new Date(platform.clock.now()).toISOString().replace(/[:.]/g, "-");
  const runsFolder = platform.files.absolute(args.text("out") ?? platform.files.join("runs", `lesson-${stamp}`));
  const signal = context.stopSignal();
  const runs: Record<string, LessonRun> = {};
  const solves = args.flag("solutions");
  for (const experiment of experimentsOf(lesson, { toy, solves, answers })) {
    report.experiment(experiment.key);
    const table = new LiveTable(context);
    const say = (line: string): void => {
      table.clear();
      context.note(line);
    };
    const baseFolder = fileURLToPath(new URL("../../examples/lessons/clerk", import.meta.url));
    const o = { baseFolder, runsFolder, signal, reporter: table, say };
    runs[experiment.key] = await runLessonExperiment(platform, experiment, o);
    table.clear();
  }
  report.findings(runs);
  return report.exercises(runs, solves ? "solutions" : answers) ? 0 : 1;
}

function list({ print, printJson, json }: CommandContext, language: LessonLanguage): number {
  for (const { lesson, texts } of lessons) {
    const { title = "", question = "" } = texts[language];
    if (json) printJson({ id: lesson.id, title, question });
    else print(`${lesson.id.padEnd(18)} ${title}: ${question}`);
  }
  return 0;
}

/** A lesson by its id, or its number. @throws UsageError */
function find(name: string): PublishedLesson {
  const found = lessons.find(({ lesson }) => lesson.id === name || String(lesson.number) === name);
  if (found !== undefined) return found;
  const ids = lessons.map(({ lesson }) => lesson.id);
  throw new UsageError(`There is no lesson "${name}".`, { do: didYouMean(name, ids) });
}
