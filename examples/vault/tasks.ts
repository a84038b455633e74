/**
 * The vault task: follow one colour through a chain of one to eight hops to the room with the code. Rooms off the
 * chain lead astray, back, or nowhere.
 */
import type { Dataset, Rng } from "leyden";
import { numberWords } from "../toy/number_words.ts";
import { splitDataset, type TaskFamily } from "../toy/split_dataset.ts";
import type { Vault } from "./rooms.ts";

/** Colours that lead from room to room; a vault has two. */
export const colours: readonly string[] = ["red", "blue", "green", "gold"];

/** Longest chain, in hops. */
export const maxHops = 8;
const roomCount = 40;
/** Share of the rooms off the chain that have anything. */
const furnishedShare = 0.6;
/** Names of rooms, and codes. */
const numbers = numberWords(10, 99);

/** A vault whose code is `hops` hops from its start. */
export function drawVault(rng: Rng, hops: number): { vault: Vault; code: string } {
  const [colour = "", other = ""] = rng.shuffled(colours);
  const names = rng.shuffled(numbers).slice(0, roomCount);
  const chain = names.slice(0, hops + 1);
  const astray = names.slice(hops + 1);
  const start = chain[0] as string;
  const code = rng.pick(numbers);
  const pair = (to: string, elsewhere: string): string =>
    rng.shuffled([`${colour} ${to}`, `${other} ${elsewhere}`]).join(" ");
  const rooms: Vault["rooms"] = {};
  for (const [i, room] of chain.entries()) {
    const next = chain[i + 1];
    rooms[room] = next === undefined ? `code ${code}` : pair(next, rng.pick(astray));
  }
  for (const room of astray) {
    const deadEnds = [...astray, start];
    const text = pair(rng.pick(deadEnds), rng.pick(deadEnds));
    rooms[room] = rng.uniform() < furnishedShare ? text : "empty";
  }
  return { vault: { start, colour, rooms }, code };
}

/** Vaults; their kind is the number of hops. */
export const vaults: TaskFamily = {
  name: "vault",
  kinds: maxHops,
  draw: (rng, kind = rng.below(maxHops)) => {
    const { vault, code } = drawVault(rng, kind + 1);
    return { input: { ...vault }, hidden: { answer: `answer ${code}`, hops: kind + 1 } };
  },
};

/** Endless training vaults by seed, and 200 held-out ones, 25 of each length. */
export const dataset: Dataset = splitDataset(vaults);
