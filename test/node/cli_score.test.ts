// Plan: log-probabilities against a reference's; text and ids alike; a text longer than the context; refusals.
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { runLeyden } from "../cli/run_leyden.ts";
import { itShared, sharedPath } from "../shared.ts";

const stories = "assets/stories260k";

interface Scored {
  ids: number[];
  logprobs: number[];
  nll: number;
}

interface GoldenPrompt {
  text: string;
  ids: number[];
  /** Token id, logit, log-probability. */
  last_logits_top8: [number, number, number][];
}

describe("leyden score", () => {
  itShared("gives the reference's log-probabilities", stories, async (folder) => {
    const { prompts } = JSON.parse(readFileSync(`${folder}/golden.json`, "utf8")) as { prompts: GoldenPrompt[] };
    for (const { ids, last_logits_top8: top } of prompts) {
      for (const [id, , logprob] of top.slice(0, 2)) {
        const ran = await runLeyden(["score", "--model", `${folder}/hf`, "--ids", [...ids, id].join(), "--json"]);
        const scored = ran.json()[0] as Scored;
        expect(scored.ids).toEqual([...ids, id]);
        expect(scored.logprobs[0]).toBe(0);
        expect(Math.abs((scored.logprobs.at(-1) as number) - logprob)).toBeLessThan(1e-4);
        const sum = scored.logprobs.reduce((a, b) => a + b, 0);
        expect(scored.nll).toBeCloseTo(-sum / ids.length, 6);
      }
    }
  });

  itShared("scores a text file, and one longer than the context in windows", stories, async (folder) => {
    const stories260 = sharedPath("assets/tinystories-sample/tinystories_1000.json");
    const texts = JSON.parse(readFileSync(stories260, "utf8")) as string[];
    const place = await mkdtemp(join(tmpdir(), "leyden_score_"));
    const score = async (text: string): Promise<{ scored: Scored; err: string }> => {
      await writeFile(join(place, "text.txt"), text);
      const args = ["score", "--model", `${folder}/hf`, "--text-file", join(place, "text.txt"), "--json"];
      const ran = await runLeyden(args);
      return { scored: ran.json()[0] as Scored, err: ran.err };
    };
    const one = await score(texts[0] as string);
    expect(one.scored.ids[0]).toBe(1);
    expect(one.scored.nll).toBeGreaterThan(0.8);
    expect(one.scored.nll).toBeLessThan(2);
    const long = await score(texts.slice(0, 4).join("\n"));
    expect(long.scored.ids.length).toBeGreaterThan(1024);
    expect(long.scored.nll).toBeLessThan(2);
    expect(long.err).toContain("each was scored with at least 256 before it");
    await rm(place, { recursive: true });
  });

  itShared("refuses what it cannot score", stories, async (folder) => {
    const refusals: [string[], string][] = [
      [["--ids", "1,600"], "Token id 600 is outside this model's vocabulary of 512."],
      [["--ids", "1,x"], "which is no token id."],
      [[], "leyden score needs --ids or --text-file, and not both."],
      [["--ids", "1,2", "--temperature", "0"], "--temperature is 0, below 0.001."],
    ];
    for (const [args, message] of refusals) {
      const ran = await runLeyden(["score", "--model", `${folder}/hf`, ...args, "--json"]);
      expect(ran.code).toBe(4);
      expect(ran.out).toContain(message);
    }
  });
});
