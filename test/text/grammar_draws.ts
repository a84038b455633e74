import { expect } from "vitest";
import { xgrammar } from "../../src/app/load_xgrammar.ts";
import type { ConstraintSpec, TokenConstraint } from "../../src/schema/token_constraint.ts";
import type { TokenizerFiles } from "../../src/schema/tokenizer_files.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { GrammarConstraints } from "../../src/text/grammar/grammar_constraints.ts";
import { tinyTokenizerFiles } from "./tiny_tokenizer.ts";

/** The tiny tokenizer's files. */
export const files: TokenizerFiles = tinyTokenizerFiles();
/** Its chat format. */
export const format: ChatFormat = ChatFormat.load(files);
/** Rows of a head for it. */
export const vocabSize = 400;
/** Constraints for it. */
export const constraints: GrammarConstraints = new GrammarConstraints(async () => files, vocabSize, xgrammar);
/** What ends a reply. */
export const stop: number = format.stopIds[0] as number;

/** Deterministic draws in [0, 1). */
function draws(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Ids that may come next. */
export async function allowed(constraint: TokenConstraint): Promise<number[]> {
  const bits = new Uint32Array(Math.ceil(vocabSize / 32));
  expect(await constraint.mask(bits)).toBe(true);
  const ids = Array.from({ length: vocabSize }, (_, id) => id);
  return ids.filter((id) => ((bits[id >> 5] as number) >>> (id & 31)) & 1);
}

/** A reply drawn blindly under the constraint, texts and lists kept short by a taste for what ends them. */
export async function draw(using: GrammarConstraints, spec: ConstraintSpec, seed: number): Promise<string> {
  const constraint = await using.compile(spec);
  const random = draws(seed);
  const enders = ['"', "}", "]", ">", "<", "\n"].map((text) => format.tokenizer.encode(text)[0] as number);
  const ids: number[] = [];
  while (ids.length < 2000) {
    const choices = await allowed(constraint);
    expect(choices.length).toBeGreaterThan(0);
    const ending = [stop, ...enders].filter((id) => choices.includes(id));
    const from = ending.length > 0 && random() < 0.5 ? ending : choices;
    const id = from[Math.floor(random() * from.length)] as number;
    await constraint.accept(id);
    if (id === stop) break;
    ids.push(id);
  }
  constraint.dispose();
  expect(ids.length).toBeLessThan(2000);
  return format.tokenizer.decode(ids, { continuation: true });
}
