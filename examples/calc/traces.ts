/**
 * Scripted solutions of training tasks in exactly the texts a policy samples and an agent sends back. The clean stage
 * teaches the format and the copying of operands; the noisy stage then plants every mistake that reinforcement
 * learning is to remove.
 */
import { deriveKey, Rng, seedKey } from "leyden";
import { calculate } from "./calculator.ts";
import { kinds } from "./kinds.ts";
import { drawProblem, type Problem } from "./tasks.ts";

/** Probabilities of each mistake, drawn independently per trace. */
export interface Noise {
  /** Answers at once, without the tool. */
  direct: number;
  /** Writes a call that does not parse, and stops. */
  unparsable: number;
  /** First calls with a wrong key, then rightly. */
  wrongKey: number;
  /** Changes one digit of an operand. */
  operand: number;
  /** Factor on each kind's share of wrong strategies. */
  strategy: number;
  /** Solves it in two or three calls where the kind can be split. */
  split: number;
  /** Makes the same call again, and again with the same probability. */
  again: number;
  /** Changes one digit of the last number when answering. */
  miscopy: number;
}

/** One reply of the assistant; `result` is what the tool then answered, null when the reply was final. */
export interface TraceTurn {
  text: string;
  result: string | null;
}

/** A scripted conversation. */
export interface Trace {
  problem: Problem;
  turns: TraceTurn[];
}

/** Names of the two stages. */
export type Stage = "clean" | "noisy";

/** The mistakes of each stage. */
export const stageNoise: Readonly<Record<Stage, Noise>> = {
  clean: { direct: 0, unparsable: 0, wrongKey: 0, operand: 0, strategy: 0, split: 0, again: 0, miscopy: 0 },
  noisy: {
    direct: 0.08,
    unparsable: 0.06,
    wrongKey: 0.06,
    operand: 0.1,
    strategy: 1,
    split: 0.25,
    again: 0.12,
    miscopy: 0.06,
  },
};

/** Replies an agent allows, the final one included. */
const maxReplies = 4;
const missingExpression = "error: expression is missing";

/** A call as JSON with a blank after each comma and colon, the way chat templates write it. */
function toolCall(argument: string, expression: string): string {
  return callText(`{"name": "calculator", "arguments": {"${argument}": "${expression}"}}`);
}

function callText(body: string): string {
  return `<tool_call>\n${body}\n</tool_call>`;
}

/** The final message. */
export function answerText(value: string | number): string {
  return `The answer is ${value}.`;
}

function changeDigit(text: string, rng: Rng): string {
  const places = [...text].flatMap((char, i) => (/\d/.test(char) ? [i] : []));
  if (places.length === 0) return text;
  const place = rng.pick(places);
  const digit = rng.pick([..."123456789"].filter((d) => d !== text[place]));
  return text.slice(0, place) + digit + text.slice(place + 1);
}

function directAnswer(problem: Problem, rng: Rng): string {
  if (rng.uniform() >= 0.7) return answerText(rng.pick([problem.values.a, problem.values.b]));
  return answerText(Math.max(0, Number(problem.answer) + rng.below(199) - 99));
}

function unparsableCall(expression: string, rng: Rng): string {
  const bodies = [
    `{"name": "calculator", "arguments": {"expression": "${expression}"}`,
    `{"name": "calculator", "expression": "${expression}"}`,
    `calculator(${expression})`,
  ];
  return callText(rng.pick(bodies));
}

/** The expressions to compute one after the other; the last one's result is answered. */
function solve(problem: Problem, expression: string, split: boolean): TraceTurn[] {
  const steps = split ? (kinds[problem.kind].steps ?? [() => expression]) : [() => expression];
  const results: string[] = [];
  return steps.map((step) => {
    const text = step(problem.values, results);
    const result = calculate(text);
    results.push(result);
    return { text: toolCall("expression", text), result };
  });
}

/** A trace of a problem with the given mistakes. */
export function drawTrace(problem: Problem, rng: Rng, noise: Noise): Trace {
  const kind = kinds[problem.kind];
  const right = kind.expression(problem.values);
  if (rng.uniform() < noise.direct) return { problem, turns: [{ text: directAnswer(problem, rng), result: null }] };
  if (rng.uniform() < noise.unparsable) return { problem, turns: [{ text: unparsableCall(right, rng), result: null }] };
  let expression = rng.uniform() < kind.wrongShare * noise.strategy ? kind.wrong(problem.values) : right;
  if (rng.uniform() < noise.operand) expression = changeDigit(expression, rng);
  const turns: TraceTurn[] = [];
  if (rng.uniform() < noise.wrongKey) turns.push({ text: toolCall("input", expression), result: missingExpression });
  const fits = turns.length + (kind.steps?.length ?? 1) < maxReplies;
  turns.push(...solve(problem, expression, fits && expression === right && rng.uniform() < noise.split));
  while (turns.length < maxReplies - 1 && rng.uniform() < noise.again) turns.push(...solve(problem, expression, false));
  let value = turns.at(-1)?.result ?? "";
  if (rng.uniform() < noise.miscopy) value = changeDigit(value, rng);
  turns.push({ text: answerText(value), result: null });
  return { problem, turns };
}

/** Trace number `index` of a stage under a seed, of a training question. */
export function traceAt(stage: Stage, seed: number, index: number): Trace {
  const rng = new Rng(deriveKey(seedKey(seed), "calc/traces", stage, index));
  return drawTrace(drawProblem(rng, "train"), rng, stageNoise[stage]);
}
