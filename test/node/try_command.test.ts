/**
 * `leyden try` with a gateway of its own. Plan: the tiny model's polite reply and its true logprobs; replies of a script;
 * a model that draws by itself; what --keep leaves.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { openEngine } from "../../src/app/open_engine.ts";
import { openStoreForReading } from "../../src/app/open_store.ts";
import { platform } from "../../src/platform/node.ts";
import { runLeyden } from "../cli/run_leyden.ts";

const folder = mkdtempSync(join(tmpdir(), "leyden-try-test-"));
const kept: string[] = [folder];
afterAll(() => {
  for (const path of kept) rmSync(path, { recursive: true, force: true });
});

/** Asks twice, and prints what it was told. */
const agent = `
  const messages = [{ role: "user", content: "hi" }];
  for (let turn = 0; turn < 2; turn++) {
    const response = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", {
      method: "POST",
      headers: { authorization: "Bearer " + process.env.OPENAI_API_KEY },
      body: JSON.stringify({ messages, max_tokens: 24 }),
    });
    const { choices } = await response.json();
    console.log(choices[0].message.content);
    messages.push(choices[0].message, { role: "user", content: "and then?" });
  }
`;
const command = ["--", process.execPath, "--input-type=module", "-e", agent];

interface Tried {
  exit: number;
  calls: number;
  lineages: number;
  continuations: number;
  sampled_tokens: number;
  trainable: boolean;
  folder?: string;
}

async function tryIt(...args: string[]): Promise<Tried> {
  const { code, json, err } = await runLeyden(["try", "--json", ...args, ...command]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return json().at(-1) as Tried;
}

describe("leyden try", () => {
  it("answers politely through a tiny model, and keeps what it recorded", async () => {
    const tried = await tryIt("--keep");
    expect(tried).toMatchObject({ exit: 0, calls: 2, lineages: 1, continuations: 1, trainable: true });
    const left = tried.folder ?? "";
    kept.push(left);
    expect(readFileSync(join(left, "stdout.log"), "utf8")).toBe(
      "Hello from Leyden's trial. There is nothing left to do.\n".repeat(2),
    );
    const store = await openStoreForReading(platform, join(left, "store.sqlite"));
    const [rollout] = await store.rollouts();
    const calls = await store.calls(rollout?.rollout_id ?? "");
    await store.close();
    expect(rollout?.status).toMatchObject({ state: "succeeded", last_attempt_id: "0" });
    // The replies are not the model's, but their log-probabilities are: the ones it gives these very tokens.
    const engine = await openEngine(platform, { modelFolder: join(left, "model"), train: false, contextLength: 256 });
    for (const { id, tokens, server } of calls) {
      expect(server.endpoint).toBe("script");
      const ids = Int32Array.of(...tokens.promptIds, ...tokens.replyIds);
      const { logprobs } = await engine.score({ id, ids, temperature: 1 });
      const scored = logprobs.slice(tokens.promptIds.length);
      expect(scored).toHaveLength(tokens.logprobs.length);
      for (const [at, logprob] of scored.entries()) expect(tokens.logprobs[at]).toBeCloseTo(logprob, 4);
      expect(new Set(tokens.logprobs).size).toBeGreaterThan(4);
    }
    await engine.close();
  });

  it("says what a script says", async () => {
    const script = join(folder, "script.jsonl");
    writeFileSync(script, '{"text":"one"}\n{"text":"two"}\n');
    const tried = await tryIt("--keep", "--script", script);
    kept.push(tried.folder ?? "");
    expect(readFileSync(join(tried.folder ?? "", "stdout.log"), "utf8")).toBe("one\ntwo\n");
  });

  it("lets another model draw, and leaves nothing behind", async () => {
    const model = fileURLToPath(new URL("../../examples/calc/model", import.meta.url));
    const tried = await tryIt("--model", model);
    expect(tried).toMatchObject({ calls: 2, continuations: 1, trainable: true });
    expect(tried.sampled_tokens).toBeLessThanOrEqual(48);
    expect(tried.folder).toBeUndefined();
    expect(existsSync(model)).toBe(true);
  });
});
