/**
 * Fifty thousand mutated requests of each dialect; LEYDEN_FUZZ_REQUESTS sends another number, LEYDEN_FUZZ_SEED begins with
 * another seed.
 */
import { it } from "vitest";
import { fuzz, fuzzedDialects } from "../gateway/fuzzing.ts";

const requests = Number(process.env.LEYDEN_FUZZ_REQUESTS ?? 50_000);
/** Sessions are opened anew after so many: what is fuzzed is requests, not the length of a session. */
const block = 250;
const first = Number(process.env.LEYDEN_FUZZ_SEED ?? 1000);

it.each(fuzzedDialects.map((dialect) => [dialect.name, dialect] as const))("%s", async (_, dialect) => {
  for (let at = 0; at < requests / block; at++) await fuzz(dialect, block, first + at);
});
