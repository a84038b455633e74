/** A lesson as lines for a terminal, or as JSON lines. */
import { shown } from "../../../examples/lessons/reading.ts";
import type { Exercise, ExhibitTable, Lesson, LessonRuns, LessonTexts, Verdict } from "../../schema/lesson.ts";

/** Where the lines go. */
export interface ReportOutput {
  readonly json: boolean;
  print(line: string): void;
  printJson(value: unknown): void;
}

/** Width of paragraphs in columns. */
const width = 100;

/** Columns that a character takes: those of East Asian scripts take two. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += /[ᄀ-ᅟ⺀-꓏가-힣＀-｠]/u.test(character) ? 2 : 1;
  return columns;
}

function padEnd(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - columnsOf(text)));
}

/** A paragraph broken at blanks. */
function wrapped(text: string): string[] {
  const lines: string[] = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) as string;
    if (line !== "" && columnsOf(line) + 1 + columnsOf(word) > width) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}

/** Tells a lesson from its question to the verdicts. */
export class LessonReport {
  private readonly lesson: Lesson;
  private readonly texts: LessonTexts;
  private readonly out: ReportOutput;

  constructor(lesson: Lesson, texts: LessonTexts, out: ReportOutput) {
    this.lesson = lesson;
    this.texts = texts;
    this.out = out;
  }

  /** Question and paragraphs. */
  opening(): void {
    const { id, number, parts } = this.lesson;
    if (this.out.json) {
      this.out.printJson({ lesson: id, question: this.text("question") });
      return;
    }
    this.out.print(`${number}. ${this.text("title")}`);
    this.paragraphs(this.text("question"));
    for (const part of parts) this.paragraphs(this.text(part));
    this.out.print("");
  }

  /** A run begins. */
  experiment(key: string): void {
    if (!this.out.json) this.out.print(`${this.text("runBegins")} ${this.text(key)}`);
  }

  /** Observations of all runs side by side, and the exhibits. */
  findings(runs: LessonRuns): void {
    const { observations, exhibits } = this.lesson;
    const keys = Object.keys(runs);
    const rows = observations.map(({ key, digits, read }) => [
      key,
      ...keys.map((name) => {
        const run = runs[name];
        return shown(run === undefined ? null : read(run), digits);
      }),
    ]);
    if (this.out.json) this.out.printJson({ runs: keys, observations: rows });
    else {
      this.out.print("");
      this.paragraphs(this.text("look"));
      this.table({
        columns: ["", ...keys.map((key) => this.text(key))],
        rows: rows.map(([k, ...v]) => [this.text(k ?? ""), ...v]),
      });
    }
    for (const { key, show } of exhibits) {
      const table = show(runs);
      if (this.out.json) this.out.printJson({ exhibit: key, table });
      else {
        this.out.print("");
        this.paragraphs(this.text(key));
        if (table === null) this.out.print(this.text("nothingToShow"));
        else this.table({ columns: table.columns.map((column) => this.text(column)), rows: table.rows });
      }
    }
  }

  /** Exercises and, where there are answers, their verdicts. True when no answer was wrong. */
  exercises(runs: LessonRuns, answers: "solutions" | Readonly<Record<string, string>>): boolean {
    let allRight = true;
    for (const exercise of this.lesson.exercises) {
      const answer = answers === "solutions" ? exercise.solution(runs) : answers[exercise.key];
      const verdict = answer === undefined ? null : exercise.check(answer, runs);
      if (verdict?.ok === false) allRight = false;
      this.exercise(exercise, answer, verdict);
    }
    return allRight;
  }

  private exercise(exercise: Exercise, answer: string | undefined, verdict: Verdict | null): void {
    const { key, kind } = exercise;
    if (this.out.json) {
      this.out.printJson({ exercise: key, kind, answer: answer ?? null, ok: verdict?.ok ?? null });
      return;
    }
    this.out.print("");
    this.paragraphs(`${this.text("exercise")}: ${this.text(key)}  [${key}]`);
    if (exercise.kind === "choice")
      for (const option of exercise.options) this.out.print(`  ${option}: ${this.text(option)}`);
    if (verdict === null) return;
    this.out.print(`  ${this.text("answer")}: ${answer}`);
    this.paragraphs(`  ${verdict.ok ? "✓" : "✗"} ${this.text(verdict.feedback)}`);
  }

  private text(key: string): string {
    return this.texts[key] ?? key;
  }

  private paragraphs(text: string): void {
    for (const paragraph of text.split("\n\n")) for (const line of wrapped(paragraph)) this.out.print(line);
  }

  private table({ columns, rows }: ExhibitTable): void {
    const all = [columns, ...rows];
    const widths = columns.map((_, i) => Math.max(...all.map((row) => columnsOf(row[i] ?? ""))));
    for (const row of all)
      this.out.print(`  ${row.map((cell, i) => padEnd(cell, widths[i] ?? 0)).join("  ")}`.trimEnd());
  }
}
