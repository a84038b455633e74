/** Scripted walks through training vaults: what an expert does, and every mistake that reinforcement learning removes. */
import { deriveKey, Rng, seedKey } from "leyden";
import { numberWords } from "../toy/number_words.ts";
import { drawTask } from "../toy/split_dataset.ts";
import { maxCalls, type Note, openRoom, readAction, type Vault } from "./rooms.ts";
import { vaults } from "./tasks.ts";

/** Names of the two stages. */
export type Stage = "clean" | "noisy";

/** One call: what the agent knew, what the model is to reply, and what was done. */
export interface Step {
  notes: readonly Note[];
  reply: string;
  done: string;
}

/** A walk and how it ended. */
export interface Walk {
  vault: Vault;
  steps: Step[];
  /** The agent's last reply was the right answer. */
  found: boolean;
}

/** Share of the calls that go wrong, and of those that are no action at all (noisy stage only). */
const mistakeShare = 0.3;
const garbageShare = 0.01;
const numbers = numberWords(10, 99);

/** The right reply to what the last note says. */
export function expertReply({ start, colour }: Vault, notes: readonly Note[]): string {
  const text = notes.at(-1)?.text ?? "";
  const code = /^code (\d+)$/.exec(text)?.[1];
  if (code !== undefined) return `answer ${code}`;
  const next = new RegExp(`${colour} (\\d+)`).exec(text)?.[1];
  return next === undefined ? `open ${start}` : `go ${colour} ${next}`;
}

/** A mistake: the other colour, the same room again, the start, a guess, or any room. */
export function mistakenReply({ start, colour }: Vault, notes: readonly Note[], rng: Rng): string {
  const draw = rng.uniform();
  const last = notes.at(-1);
  const other = [...(last?.text ?? "").matchAll(/([a-z]+) (\d+)/g)].find(
    ([, word]) => word !== colour && word !== "code",
  );
  if (draw < 0.45 && other !== undefined) return `go ${other[0]}`;
  if (draw < 0.8 && last !== undefined) return `open ${last.room}`;
  if (draw < 0.9) return `open ${start}`;
  if (draw < 0.95 && last !== undefined) return `answer ${rng.pick(numbers)}`;
  return `open ${rng.pick(numbers)}`;
}

/**
 * Walk number `index` of a stage under a seed, through a training vault. Both stages stray alike, so that the model
 * sees every kind of note; in the clean one it is to reply what the expert would.
 */
export function walkAt(stage: Stage, seed: number, index: number): Walk {
  const rng = new Rng(deriveKey(seedKey(seed), "vault/walks", stage, index));
  const { input, hidden } = drawTask(vaults, rng, "train");
  const vault = input as unknown as Vault;
  const notes: Note[] = [];
  const steps: Step[] = [];
  while (steps.length < maxCalls) {
    const right = expertReply(vault, notes);
    let done = rng.uniform() < mistakeShare ? mistakenReply(vault, notes, rng) : right;
    if (stage === "noisy" && rng.uniform() < garbageShare) done = rng.pick(["open", "notes"]);
    steps.push({ notes: [...notes], reply: stage === "clean" ? right : done, done });
    const action = readAction(done);
    if (action?.kind !== "open") break;
    notes.push(openRoom(vault, action.room));
  }
  return { vault, steps, found: steps.at(-1)?.done === hidden.answer };
}
