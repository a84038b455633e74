/** What `leyden try` says of an agent's run: how it ended, what was recorded, and the verdict. */
import type { TrialResult } from "../app/trial/run_trial.ts";
import { deathOf } from "../app/trial/trial_report.ts";
import type { CommandContext } from "./command.ts";
import { counted } from "./counted.ts";
import { visible } from "./visible_text.ts";

/** What is said of a trial besides its result. */
export interface ReportFacts {
  /** The agent's name, or its command line. */
  readonly harness: string;
  /** What to do about a program that could not be started; null for one that was. */
  readonly advice: string | null;
  /** Where the trial's files were kept; null where they were not. */
  readonly folder: string | null;
}

/** A command line on one line of a screen. */
export function shortName(text: string): string {
  const line = visible(text.replaceAll(/\s+/g, " "));
  return line.length <= 60 ? line : `${line.slice(0, 59)}…`;
}

/** Lines that are shown of what a program printed, and of what it wrote to stderr before it failed. */
const shownLines = { stdout: 8, stderr: 16 };

/** The last lines of a program's output. */
function tail(text: string, lines: number): string[] {
  return text
    .trimEnd()
    .split("\n")
    .filter((line) => line !== "")
    .slice(-lines);
}

/** Says how a trial went: one line of JSON for programs. */
export function reportTrial(context: CommandContext, result: TrialResult, facts: ReportFacts): void {
  if (context.json) context.printJson(trialJson(result, facts));
  else for (const line of trialLines(result, facts)) context.print(line);
}

function trialJson(result: TrialResult, { harness, advice, folder }: ReportFacts): Record<string, unknown> {
  const { calls, lineages, breaks, continuations, promptTokens, sampledTokens, trainable, because, end } = result;
  return {
    harness,
    exit: end.exit?.code ?? null,
    calls,
    lineages,
    breaks,
    prompt_tokens: promptTokens,
    sampled_tokens: sampledTokens,
    continuations,
    failures: result.failures.length,
    trainable,
    because,
    ...(deathOf(end) === null ? {} : { stderr: tail(result.stderr, shownLines.stderr).join("\n") }),
    ...(advice === null ? {} : { do: advice }),
    ...(folder === null ? {} : { folder }),
  };
}

function trialLines(result: TrialResult, { harness, advice, folder }: ReportFacts): string[] {
  const lines = endLines(result, shortName(harness));
  if (result.end.startError !== null) return advice === null ? lines : [...lines, visible(advice)];
  const { failures } = result;
  lines.push(recordLine(result));
  if (failures.length > 0)
    lines.push(`${counted(failures.length, "call")} failed: ${failures.map(({ code }) => code).join(", ")}.`);
  lines.push(`${result.trainable ? "Trainable because" : "Not trainable:"} ${result.because}.`);
  if (folder !== null) lines.push(`Kept in ${folder}; the calls one by one: leyden inspect ${folder}/store.sqlite`);
  return lines;
}

/** How the agent ended, with the end of what it printed; a program that failed is asked for its reasons first. */
function endLines(result: TrialResult, name: string): string[] {
  const indented = (line: string): string => `  ${visible(line)}`;
  const printed = tail(result.stdout, shownLines.stdout).map(indented);
  const death = deathOf(result.end);
  if (death === null) return [...printed, `${name} ${endText(result)}.`];
  const errors = tail(result.stderr, shownLines.stderr).map(indented);
  const when = result.calls + result.failures.length === 0 ? " before any call reached the gateway" : "";
  const said = errors.length === 0 ? "It wrote nothing to stderr." : "The end of its stderr:";
  const before = printed.length === 0 ? [] : ["The end of its stdout:", ...printed];
  return [`${name} failed: it ${death}${when}. ${said}`, ...errors, ...before];
}

/** How an agent ended that did not fail by itself. */
function endText({ end }: TrialResult): string {
  if (end.startError !== null) return `could not be started: ${end.startError.message.replace(/\.$/, "")}`;
  if (end.stopped === null) return "ended with 0";
  return end.stopped === "run_timeout" ? "was ended: its time was up" : "was stopped";
}

function recordLine({ calls, lineages, breaks, promptTokens, sampledTokens }: TrialResult): string {
  const begun = breaks.length === 0 ? "" : ` (begun anew: ${breaks.join(", ")})`;
  const tokens = `${counted(promptTokens, "prompt token")}, ${counted(sampledTokens, "sampled token")}`;
  return `Recorded ${counted(calls, "call")} in ${counted(lineages, "lineage")}${begun}: ${tokens}.`;
}
