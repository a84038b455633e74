/** A first few hundred mutated requests of each dialect; the rest of them are in test/long. */
import { it } from "vitest";
import { fuzz, fuzzedDialects } from "./fuzzing.ts";

it.each(fuzzedDialects.map((dialect) => [dialect.name, dialect] as const))("%s", async (_, dialect) => {
  await fuzz(dialect, 300, 1);
});
