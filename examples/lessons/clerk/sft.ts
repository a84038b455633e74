/** The stages of supervised training that made the base model: `sft.ts#clean`, `sft.ts#noisy`. */
import { deriveKey, Rng, seedKey } from "leyden";
import { messageText, replyEnd, type Segment, type SftOptions, type SftRows, sftRow } from "../../toy/sft_rows.ts";
import { type Memory, messagesFor } from "./desk.ts";
import { type Stage, stageNoise, type Trace, traceAt } from "./traces.ts";

/** Conversations of a stage. */
const stageTraces = 12_000;
/** Conversations of four that are seen as each kind of memory shows them. */
const memoryOf: readonly Memory[] = ["chat", "chat", "log", "notes"];

/** A reply as pieces that are encoded one by one, so that some numbers become two tokens: " 4" and "2". */
export function spelled(reply: string, rng: Rng, share: number): Segment[] {
  const pieces: string[] = [""];
  for (const [part] of reply.matchAll(/ \d\d|[^\d ]+|\d| /g)) {
    const isSpelled = / \d\d/.test(part) && rng.uniform() < share;
    const [first, second] = isSpelled ? [part.slice(0, 2), part.slice(2)] : [part, ""];
    pieces[pieces.length - 1] += first;
    if (second !== "") pieces.push(second, "");
  }
  return [...pieces.filter((text) => text !== ""), replyEnd].map((text) => ({ text, sampled: true }));
}

/** The calls of a trace as rows: a chat is one row, its replies all learnt; other memories make a row of every call. */
function traceRows({ question, steps, final }: Trace, memory: Memory, rng: Rng, share: number): Segment[][] {
  const replies = [...steps.map(({ reply }) => reply), final].map((reply) => spelled(reply, rng, share));
  if (memory === "chat") {
    const [first = [], ...others] = replies;
    const told = steps.map(({ result }) => ({ text: messageText(`result ${result}`, true), sampled: false }));
    const start = { text: messageText(question.text), sampled: false };
    return [[start, ...first, ...others.flatMap((reply, i) => [told[i] as Segment, ...reply])]];
  }
  return replies.map((reply, call) => {
    const messages = messagesFor(question.text, steps.slice(0, call), memory);
    const given = messages.map(({ role, content }, i) =>
      role === "user"
        ? { text: messageText(content, i > 0), sampled: false }
        : { text: content + replyEnd, sampled: false },
    );
    return [...given, ...reply];
  });
}

function rows(stage: Stage, { encode, seed }: SftOptions): SftRows {
  const all = Array.from({ length: stageTraces }, (_, i) => {
    const rng = new Rng(deriveKey(seedKey(seed), "clerk/rows", stage, i));
    return traceRows(traceAt(stage, seed, i), rng.pick(memoryOf), rng, stageNoise[stage].spell);
  }).flat();
  return { size: all.length, example: (index) => sftRow(all[index] ?? [], encode) };
}

/** Faultless conversations. */
export function clean(options: SftOptions): SftRows {
  return rows("clean", options);
}

/** Conversations with every habit. */
export function noisy(options: SftOptions): SftRows {
  return rows("noisy", options);
}
