import type { Entropy } from "../core/clock.ts";
import type { Sampling } from "../schema/engine.ts";
import { type Args, UsageError } from "./args.ts";
import type { OptionSpec } from "./command.ts";

const names = ["temperature", "top-k", "top-p", "min-p"] as const;

/** Options that say how tokens are drawn; `temperature` is what holds when it is not given. */
export function temperatureOptions(temperature: number): Record<(typeof names)[number] | "seed", OptionSpec> {
  const draws = `Divides the logits, ${temperature} by default; 0 is greedy.`;
  return {
    temperature: { kind: "number", value: "T", summary: draws, min: 0 },
    "top-k": { kind: "integer", value: "K", summary: "Draw from the K likeliest tokens; 0 is all.", min: 0 },
    "top-p": { kind: "number", value: "P", summary: "Draw from the likeliest tokens that make up P.", min: 0 },
    "min-p": { kind: "number", value: "P", summary: "Leave out tokens below P times the likeliest.", min: 0 },
    seed: { kind: "integer", value: "N", summary: "Seed of the draws; random by default.", min: 0 },
  };
}

/** Sampling as the options say. @throws UsageError when --greedy stands beside one that it makes idle */
export function samplingOf(args: Args, temperature = 1): Sampling {
  const given = names.find((name) => args.has(name));
  if (args.flag("greedy") && given !== undefined) {
    throw new UsageError(`--greedy takes the likeliest token each time, so --${given} would have no effect.`, {
      do: `Leave out --greedy or --${given}.`,
    });
  }
  return {
    temperature: args.flag("greedy") ? 0 : (args.number("temperature") ?? temperature),
    topK: args.number("top-k") ?? 0,
    topP: args.number("top-p") ?? 1,
    minP: args.number("min-p") ?? 0,
  };
}

/** The seed given, else a random one. */
export function seedOf(args: Args, entropy: Entropy): number {
  const given = args.number("seed");
  if (given !== undefined) return given;
  const bytes = entropy.bytes(4);
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0);
}
