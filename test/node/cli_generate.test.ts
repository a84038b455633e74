// Plan: real models through the command line: greedy text and ids, draws by seed, chat's refusal without a template,
// one prompt through a whole process.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import { openEngine } from "../../src/app/open_engine.ts";
import { platform } from "../../src/platform/node.ts";
import { runLeyden } from "../cli/run_leyden.ts";
import { itShared } from "../shared.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const stories = "assets/stories260k";
const sorter = "assets/gpt-nano-sort/hf";

interface GoldenPrompt {
  text: string;
  ids: number[];
  greedy_48: number[];
  greedy_text: string;
}

const golden = (folder: string): GoldenPrompt[] => JSON.parse(readFileSync(`${folder}/golden.json`, "utf8")).prompts;

describe("leyden generate on stories260k", () => {
  itShared("continues every prompt as the reference does, and prints one newline after it", stories, async (folder) => {
    const prompts = golden(folder);
    const args = ["generate", "--model", `${folder}/hf`, "--tokens", "48", "--greedy"];
    for (const { text, greedy_text: expected } of prompts) {
      expect((await runLeyden([...args, "--prompt", text])).out).toBe(`${expected}\n`);
    }
    const { ids, greedy_48: greedy } = prompts[0] as GoldenPrompt;
    const given = await runLeyden([...args, "--prompt-ids", ids.join(), "--ids"]);
    expect(given.out).toBe(`${[...ids, ...greedy].join()}\n`);
  });

  itShared("draws the same from the same seed, and says which one it took", stories, async (folder) => {
    const args = ["generate", "--model", `${folder}/hf`, "--tokens", "12", "--prompt", "Once", "--json"];
    const draw = async (...more: string[]) =>
      (await runLeyden([...args, ...more])).json()[0] as Record<string, unknown>;
    const free = await draw();
    expect(await draw("--seed", String(free.seed))).toEqual(free);
    const hot = ["--temperature", "2", "--top-k", "40"];
    expect((await draw("--seed", "7", ...hot)).ids).not.toEqual((await draw("--seed", "8", ...hot)).ids);
    expect(Object.keys(free)).toEqual(["prompt_ids", "ids", "logprobs", "text", "finish_reason", "seed"]);
    expect(free).toMatchObject({ finish_reason: "length", text: expect.stringMatching(/^Once/) });
    expect((free.logprobs as number[]).every((p) => p <= 0)).toBe(true);
  });

  itShared("runs as a program of its own", stories, (folder) => {
    const args = [
      "src/cli/main.ts",
      "generate",
      "--model",
      `${folder}/hf`,
      "--greedy",
      "--tokens",
      "5",
      "--prompt",
      "The",
    ];
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^The\w* .+\n$/);
  });

  itShared("talks, a line of JSON for each line", stories, async (folder) => {
    const args = ["chat", "--model", `${folder}/hf`, "--tokens", "8", "--seed", "1", "--json"];
    const { code, json } = await runLeyden(args, ["Hello", "Lily?"]);
    expect(code).toBe(0);
    const [first, second] = json() as { reply_tokens: number; prompt_tokens: number; cached_tokens: number }[];
    expect(json()).toHaveLength(2);
    expect(first?.reply_tokens).toBe(8);
    const continued = (first?.prompt_tokens ?? 0) + 8;
    expect(second?.prompt_tokens).toBeGreaterThan(continued);
    // Whole pages of what was computed before are not computed again.
    expect(second?.cached_tokens).toBe(16 * Math.floor((continued - 1) / 16));
  });
});

describe("leyden generate on a model without a tokenizer", () => {
  itShared("sorts: the last token is drawn although the context is full", sorter, async (folder) => {
    const args = ["generate", "--model", folder, "--prompt-ids", "2,0,1,2,0,1", "--greedy", "--tokens", "6", "--ids"];
    expect(await runLeyden(args)).toMatchObject({ out: "2,0,1,2,0,1,0,0,1,1,2,2\n", err: "" });
    const { out, err } = await runLeyden(["generate", "--model", folder, "--prompt-ids", "1,0,1,0,1,0", "--greedy"]);
    expect({ out, err }).toEqual({
      out: "1,0,1,0,1,0,0,0,0,1,1,1\n",
      err: `${folder} has no tokenizer.json: these are ids.\n`,
    });
  });

  itShared("refuses ids that are not in its vocabulary", sorter, async (folder) => {
    const { code, err } = await runLeyden(["generate", "--model", folder, "--prompt-ids", "0,3"]);
    expect({ code, err }).toEqual({ code: 4, err: expect.stringContaining("error [token_out_of_range]: ") });
  });
});

describe("an engine whose cache is smaller than the model's context", () => {
  itShared(
    "refuses a prompt that could never start, and fills the cache with one that can",
    stories,
    async (folder) => {
      const engine = await openEngine(platform, { modelFolder: `${folder}/hf`, train: false, kvTokens: 40 });
      const request = {
        id: "a",
        maxTokens: 100,
        sampling: { temperature: 0, topK: 0, topP: 1, minP: 0 },
        key: [1, 2] as const,
        stopIds: [],
        stopStrings: [],
      };
      try {
        expect(await engine.info()).toMatchObject({ contextLength: 32 });
        const long = engine.generate({ ...request, promptIds: new Int32Array(32).fill(5) });
        await expect(long).rejects.toMatchObject({ code: "context_length_exceeded" });
        const { ids, finishReason } = await engine.generate({ ...request, promptIds: new Int32Array(20).fill(5) });
        expect([ids.length, finishReason]).toEqual([12, "length"]);
      } finally {
        await engine.close();
      }
    },
  );
});
