import type { Rng } from "leyden";

/** The ten kinds of question. */
export type KindName = "add" | "sub" | "mul" | "addsub" | "sum3" | "par" | "rest" | "two" | "x2" | "x3";

/** What a question is made of: two people, a thing, four operands. */
export interface Values {
  N: string;
  M: string;
  t: string;
  a: number;
  b: number;
  c: number;
  d: number;
}

/** One kind: how its operands are drawn, how it is asked, and what solves it. */
export interface Kind {
  /** Changes freshly drawn operands (11..99 each) to what the kind allows. */
  constrain?(v: Values, rng: Rng): void;
  texts: readonly ((v: Values) => string)[];
  /** The expression an agent should compute, and its value. */
  expression(v: Values): string;
  answer(v: Values): number;
  /** The expression of a plausible mistake, and the share of noisy traces that make it. */
  wrong(v: Values): string;
  wrongShare: number;
  /** The same solution in two or three calls; `r` holds the earlier results. */
  steps?: readonly ((v: Values, r: readonly string[]) => string)[];
}

/** Names of people and things in the questions. */
export const people: readonly string[] = "Ann Ben Cleo Dan Eva Finn Gus Hana Ivo Jill Kai Lena".split(" ");
export const things: readonly string[] = "pens eggs cups coins books nuts keys cards stamps shells".split(" ");

function between(rng: Rng, low: number, high: number): number {
  return low + rng.below(high - low + 1);
}

function largerFirst(v: Values): void {
  if (v.b > v.a) [v.a, v.b] = [v.b, v.a];
}

const addThenSubtract = [(v: Values) => `${v.a}+${v.b}`, (v: Values, r: readonly string[]) => `${r[0]}-${v.c}`];

/** Every kind by name, in the order that held-out tasks cycle through. */
export const kinds: Readonly<Record<KindName, Kind>> = {
  add: {
    texts: [
      (v) => `${v.N} has ${v.a} ${v.t} and buys ${v.b} more. How many ${v.t} now?`,
      (v) => `There are ${v.a} ${v.t} here and ${v.b} ${v.t} there. How many in all?`,
    ],
    expression: (v) => `${v.a}+${v.b}`,
    answer: (v) => v.a + v.b,
    wrong: (v) => `${v.a}-${v.b}`,
    wrongShare: 0.05,
  },
  sub: {
    constrain: largerFirst,
    texts: [
      (v) => `${v.N} had ${v.a} ${v.t} and lost ${v.b}. How many are left?`,
      (v) => `Of ${v.a} ${v.t}, ${v.N} sold ${v.b}. How many remain?`,
    ],
    expression: (v) => `${v.a}-${v.b}`,
    answer: (v) => v.a - v.b,
    wrong: (v) => `${v.a}+${v.b}`,
    wrongShare: 0.05,
  },
  mul: {
    texts: [
      (v) => `One box holds ${v.a} ${v.t}. How many ${v.t} are in ${v.b} boxes?`,
      (v) => `${v.N} makes ${v.a} ${v.t} a day. How many in ${v.b} days?`,
    ],
    expression: (v) => `${v.a}*${v.b}`,
    answer: (v) => v.a * v.b,
    wrong: (v) => `${v.a}+${v.b}`,
    wrongShare: 0.1,
  },
  addsub: {
    constrain: (v, rng) => {
      v.c = between(rng, 11, Math.min(99, v.a + v.b));
    },
    texts: [(v) => `${v.N} has ${v.a} ${v.t}, gets ${v.b} and gives away ${v.c}. How many ${v.t} now?`],
    expression: (v) => `${v.a}+${v.b}-${v.c}`,
    answer: (v) => v.a + v.b - v.c,
    wrong: (v) => `${v.a}+${v.b}+${v.c}`,
    wrongShare: 0.15,
    steps: addThenSubtract,
  },
  sum3: {
    texts: [(v) => `${v.N} has ${v.a} ${v.t}, ${v.M} has ${v.b} and a friend has ${v.c}. How many in all?`],
    expression: (v) => `${v.a}+${v.b}+${v.c}`,
    answer: (v) => v.a + v.b + v.c,
    wrong: (v) => `${v.a}+${v.b}`,
    wrongShare: 0.2,
  },
  par: {
    constrain: (v, rng) => {
      v.c = between(rng, 3, 9);
    },
    texts: [(v) => `Each day ${v.N} finds ${v.a} ${v.t} and ${v.M} finds ${v.b}. How many in ${v.c} days?`],
    expression: (v) => `(${v.a}+${v.b})*${v.c}`,
    answer: (v) => (v.a + v.b) * v.c,
    wrong: (v) => `${v.a}+${v.b}*${v.c}`,
    wrongShare: 0.6,
    steps: [(v) => `${v.a}+${v.b}`, (v, r) => `${r[0]}*${v.c}`],
  },
  rest: {
    constrain: (v, rng) => {
      v.b = between(rng, 3, 9);
      v.c = between(rng, 3, 9);
      v.a = between(rng, Math.max(v.b * v.c + 3, 11), 99);
    },
    texts: [(v) => `${v.N} had ${v.a} ${v.t} and gave ${v.b} to each of ${v.c} friends. How many are left?`],
    expression: (v) => `${v.a}-${v.b}*${v.c}`,
    answer: (v) => v.a - v.b * v.c,
    wrong: (v) => `${v.a}-${v.b}`,
    wrongShare: 0.6,
    steps: [(v) => `${v.b}*${v.c}`, (v, r) => `${v.a}-${r[0]}`],
  },
  two: {
    constrain: (v, rng) => {
      v.a = between(rng, 3, 9);
      v.c = between(rng, 3, 9);
    },
    texts: [
      (v) => `${v.N} has ${v.a} boxes of ${v.b} ${v.t}, ${v.M} has ${v.c} boxes of ${v.d}. How many ${v.t} in all?`,
    ],
    expression: (v) => `${v.a}*${v.b}+${v.c}*${v.d}`,
    answer: (v) => v.a * v.b + v.c * v.d,
    wrong: (v) => `${v.a}*${v.b}+${v.c}+${v.d}`,
    wrongShare: 0.4,
    steps: [(v) => `${v.a}*${v.b}`, (v) => `${v.c}*${v.d}`, (_, r) => `${r[0]}+${r[1]}`],
  },
  x2: {
    texts: [(v) => `What is ${v.a} + ${v.b} - ${v.c}?`, (v) => `Compute ${v.a} + ${v.b} - ${v.c}.`],
    expression: (v) => `${v.a}+${v.b}-${v.c}`,
    answer: (v) => v.a + v.b - v.c,
    wrong: (v) => `${v.a}+${v.b}-${v.c}`,
    wrongShare: 0,
  },
  x3: {
    constrain: (v, rng) => {
      largerFirst(v);
      v.c = between(rng, 3, 9);
    },
    texts: [(v) => `What is (${v.a} - ${v.b}) * ${v.c}?`, (v) => `Compute (${v.a} - ${v.b}) * ${v.c}.`],
    expression: (v) => `(${v.a}-${v.b})*${v.c}`,
    answer: (v) => (v.a - v.b) * v.c,
    wrong: (v) => `${v.a}-${v.b}*${v.c}`,
    wrongShare: 0.55,
    steps: [(v) => `${v.a}-${v.b}`, (v, r) => `${r[0]}*${v.c}`],
  },
};

/** Operands 11..99 and names, before a kind's own limits. */
export function drawValues(rng: Rng): Values {
  const [N, M] = rng.shuffled(people) as [string, string];
  return {
    N,
    M,
    t: rng.pick(things),
    a: between(rng, 11, 99),
    b: between(rng, 11, 99),
    c: between(rng, 11, 99),
    d: between(rng, 11, 99),
  };
}
