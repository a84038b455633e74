import { type ForwardOutputs, forwardOutputs, packSequences } from "../../model/forward_outputs.ts";
import { Scorer } from "../../model/scorer.ts";
import type { GoldenRow } from "../golden_rl/golden_file.ts";
import { absoluteDeviation, type Deviation, goldenRow, norm, tolerances, worstOf } from "./comparison.ts";
import { sequences } from "./golden_rows.ts";
import type { GoldenRun } from "./golden_run.ts";
import type { GreedySection, ModelGolden, TraceEntry } from "./model_golden.ts";

/** Logits, hidden states and the residual stream of both sequences packed into one forward pass. */
export async function forwardChecks({ file, golden, model }: GoldenRun): Promise<GoldenRow[]> {
  const parts = sequences(golden).map(([start, end]) => golden.input_ids.slice(start, end));
  const out = await forwardOutputs(model, packSequences(parts));
  const rows: GoldenRow[] = [];
  const add = (check: string, deviation: Deviation): void => {
    rows.push(goldenRow(file, check, deviation, tolerances.logits));
  };
  if (golden.logits !== undefined) add("logits", absoluteDeviation(out.logits, golden.logits.flat()));
  if (golden.final_hidden_last_token !== undefined) {
    const width = model.description.width;
    const last = sequences(golden).flatMap(([, end]) =>
      Array.from(out.hidden.subarray((end - 1) * width, end * width)),
    );
    add("final_hidden_last_token", absoluteDeviation(last, golden.final_hidden_last_token.flat()));
  }
  if (golden.layer_trace !== undefined) {
    add("layer_trace", traceDeviation(golden, golden.layer_trace, out, model.description.width));
  }
  return rows;
}

/** Deviation per element of each depth's norm and sum, and of the last token's first entries. */
function traceDeviation(golden: ModelGolden, trace: TraceEntry[][], out: ForwardOutputs, width: number): Deviation {
  const depths = [...out.residuals, out.hidden];
  const deviations = sequences(golden).flatMap(([start, end], s) =>
    depths.map((stream, depth): Deviation => {
      const place = `sequence ${s} depth ${depth}`;
      const want = trace[s]?.[depth];
      if (want === undefined) return { worst: Number.POSITIVE_INFINITY, cases: 0, place: `${place} is missing` };
      const values = stream.subarray(start * width, end * width);
      const scale = Math.sqrt(values.length);
      const sum = values.reduce((a, b) => a + b, 0);
      const last = stream.subarray((end - 1) * width, (end - 1) * width + want.last4.length);
      return {
        worst: Math.max(
          Math.abs(norm(values) - want.l2) / scale,
          Math.abs(sum - want.sum) / scale,
          absoluteDeviation(last, want.last4).worst,
        ),
        cases: 2 + want.last4.length,
        place,
      };
    }),
  );
  return worstOf(deviations);
}

/** Log-probabilities and entropies of each sequence at the golden's temperature. */
export async function scoreChecks({ file, golden, model }: GoldenRun): Promise<GoldenRow[]> {
  if (golden.logprobs === undefined && golden.entropies === undefined) return [];
  const scorer = new Scorer(model, golden.input_ids.length);
  const logprobs: number[] = [];
  const entropies: number[] = [];
  for (const [start, end] of sequences(golden)) {
    const ids = Int32Array.from(golden.input_ids.slice(start, end));
    const scored = await scorer.score(ids, golden.temperature);
    logprobs.push(...scored.logprobs);
    entropies.push(...scored.entropies);
  }
  scorer.dispose();
  const rows: GoldenRow[] = [];
  for (const [check, got] of Object.entries({ logprobs, entropies })) {
    const want = golden[check as "logprobs" | "entropies"];
    if (want !== undefined) rows.push(goldenRow(file, check, absoluteDeviation(got, want), tolerances.logprob));
  }
  return rows;
}

/**
 * Greedy decoding in one pass: given the golden's own reply, every position must choose the next of its tokens, with
 * the stated lead and log-probability; then decoding step by step writes exactly that reply.
 */
export async function greedyChecks({ file, golden, model }: GoldenRun): Promise<GoldenRow[]> {
  const greedy = golden.greedy;
  if (greedy === undefined) return [];
  const out = await forwardOutputs(model, packSequences([[...greedy.prompt, ...greedy.output]]));
  const got = argmaxRun(greedy, out.logits, model.description.vocabSize);
  const wrong = got.ids.findIndex((id, i) => id !== greedy.output[i]);
  const exact = {
    worst: got.ids.filter((id, i) => id !== greedy.output[i]).length,
    cases: greedy.output.length,
    place: wrong < 0 ? "" : `token ${wrong}: ${got.ids[wrong]} instead of ${greedy.output[wrong]}`,
  };
  return [
    goldenRow(file, "greedy.output", exact, 0, "argmax after each prefix"),
    // A lead is a difference of two logits.
    goldenRow(file, "greedy.margins", absoluteDeviation(got.margins, greedy.margins), 2 * tolerances.logits),
    goldenRow(file, "greedy.logprobs", absoluteDeviation(got.logprobs, greedy.logprobs), tolerances.logprob),
  ];
}

function argmaxRun(
  greedy: GreedySection,
  logits: Float32Array,
  vocab: number,
): { ids: number[]; margins: number[]; logprobs: number[] } {
  const run = { ids: [] as number[], margins: [] as number[], logprobs: [] as number[] };
  for (let i = 0; i < greedy.output.length; i++) {
    const row = logits.subarray((greedy.prompt.length - 1 + i) * vocab, (greedy.prompt.length + i) * vocab);
    const order = Array.from(row.keys()).sort((a, b) => (row[b] as number) - (row[a] as number) || a - b);
    const [first = 0, second = first] = order;
    const top = row[first] as number;
    run.ids.push(first);
    run.margins.push(top - (row[second] as number));
    run.logprobs.push(-Math.log(row.reduce((sum, v) => sum + Math.exp(v - top), 0)));
  }
  return run;
}
