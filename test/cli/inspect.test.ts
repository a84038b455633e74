// Plan: the table and one rollout, as text and as JSON; tokens read by the checkpoint's tokenizer, messages without
// one; beside a writer; text that would command the terminal; refusals.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../src/app/open_store.ts";
import { platform } from "../../src/platform/node.ts";
import type { CallRecord, Store, StoreEvent } from "../../src/schema/store.ts";
import { Tokenizer } from "../../src/text/tokenizer.ts";
import { call, event, rollout } from "../store/samples.ts";
import { runLeyden } from "./run_leyden.ts";

const calc = fileURLToPath(new URL("../../examples/calc/model", import.meta.url));
const textNames = ["tokenizer.json", "tokenizer_config.json"];
const json = (name: string) => JSON.parse(readFileSync(join(calc, name), "utf8"));
const tokenizer = Tokenizer.load({
  name: "calc",
  tokenizer: json("tokenizer.json"),
  tokenizerConfig: json("tokenizer_config.json"),
  specialTokensMap: null,
  generationConfig: null,
  modelConfig: null,
  chatTemplates: {},
});

let root = "";
let run = "";
let store: Store;
let prompt: number[] = [];
let calls: CallRecord[] = [];

const user = (content: string) => ({ role: "user", content });
const question = "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n";
const answer = "4<|im_end|>";
const more = "\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\n";

function recordedCalls(): CallRecord[] {
  const [first, reply, next] = [question, answer, more].map((text) => tokenizer.encode(text));
  prompt = first as number[];
  const second = [...prompt, ...(reply as number[]), ...(next as number[])];
  return [
    call("c1", "g0-s0", prompt, reply as number[], { request: { messages: [user("2+2?")] } }),
    call("c2", "g0-s0", second, reply as number[], {
      parent: "c1",
      prefixLength: prompt.length + (reply as number[]).length,
      finishReason: "length",
      request: { messages: [user("2+2?"), { role: "assistant", content: "4" }, user("Sure?")] },
    }),
    call("c3", "g0-s0", tokenizer.encode("2"), [], { breakReason: "side", policy: "judge\u001b[2J", own: false }),
  ];
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "leyden-inspect-"));
  run = join(root, "run");
  mkdirSync(run);
  store = await openStore(platform, join(run, "store.sqlite"));
  calls = recordedCalls();
  const status = (id: string, state: "running" | "succeeded" | "failed", patch = {}): StoreEvent => ({
    type: "rollout_patched",
    rolloutId: id,
    patch: { state, last_attempt_id: "0", ...patch },
    at: 1003,
  });
  await store.append([
    ...["g0-s0", "g0-s1", "val-t0"].map(
      (id): StoreEvent => ({ type: "rollout_created", rollout: rollout(id, { is_train: !id.startsWith("val") }) }),
    ),
    status("g0-s0", "running"),
    ...calls.map((record): StoreEvent => ({ type: "call_recorded", call: record })),
    { type: "call_delivery", callId: "c1", delivery: "delivered", at: 1003 },
    { type: "event_posted", event: event("g0-s0", "claimed_reward", { value: 9 }) },
    { type: "event_posted", event: event("g0-s0", "reward", { value: 0.25, reason: "\u001b]0;owned\u0007" }) },
    status("g0-s0", "succeeded"),
    status("g0-s1", "running"),
    {
      type: "call_failed",
      failure: {
        rolloutId: "g0-s1",
        attemptId: "0",
        code: "upstream_failed",
        message: "no answer",
        httpStatus: 502,
        latencyMs: 1,
        retryCount: 0,
        timestamp: 1003,
      },
    },
    status("g0-s1", "failed", { error_message: "agent\nexit 3" }),
  ]);
});
afterAll(async () => {
  await store.close();
  rmSync(root, { recursive: true });
});

/** Gives the run a checkpoint with calc's tokenizer. */
function addCheckpoint(): void {
  const checkpoint = join(run, "checkpoints", "step_1");
  mkdirSync(checkpoint, { recursive: true });
  const counts = { update: 1, version: 1, optimizerSteps: 1, cursor: 1, carryOver: [], storeSeq: 0 };
  const state = { format: 1, ...counts, configSha256: "", weightsSha256: "" };
  writeFileSync(join(checkpoint, "state.json"), JSON.stringify(state));
  for (const name of textNames) copyFileSync(join(calc, name), join(checkpoint, name));
}

describe("leyden inspect RUN", () => {
  it("lists rollouts, also while the run is writing", async () => {
    const { code, out, err } = await runLeyden(["inspect", run]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const [sampled, all] = [2, 3].map((n) => calls.slice(0, n).reduce((sum, c) => sum + c.tokens.replyIds.length, 0));
    const sent = calls.reduce((sum, c) => sum + c.tokens.promptIds.length, 0);
    expect(sampled).toBe(all);
    expect(out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["rollout", "mode", "state", "reward", "calls", "prompt", "sampled", "attempt", "error"],
      ["g0-s0", "train", "succeeded", "0.25", "3", String(sent), String(sampled), "0"],
      ["g0-s1", "train", "failed", "-", "0", "0", "0", "0", "agent exit 3"],
      ["val-t0", "val", "queuing", "-", "0", "0", "0", "-"],
      ["3 rollouts (1 succeeded, 1 failed, 1 queuing), mean reward 0.2500 of 1."],
      [""],
    ]);
  });

  it("prints a line of JSON per rollout", async () => {
    const { json: lines } = await runLeyden(["inspect", run, "--json"]);
    expect(lines()).toMatchObject([
      {
        rollout: "g0-s0",
        mode: "train",
        state: "succeeded",
        reward: 0.25,
        attempt: "0",
        attempts: 1,
        calls: 3,
        error: null,
      },
      { rollout: "g0-s1", state: "failed", reward: null, attempts: 0, calls: 0, error: "agent\nexit 3" },
      { rollout: "val-t0", mode: "val", state: "queuing", attempt: null },
    ]);
  });

  it("reads a store by its file, and one without rollouts", async () => {
    expect((await runLeyden(["inspect", join(run, "store.sqlite")])).out).toContain("3 rollouts");
    const path = join(root, "served.db");
    await (await openStore(platform, path)).close();
    expect((await runLeyden(["inspect", path])).out).toBe("0 rollouts, no rewards yet.\n");
  });
});

describe("leyden inspect RUN ROLLOUT", () => {
  it("prints the tree of its calls as JSON", async () => {
    const { json: lines } = await runLeyden(["inspect", run, "g0-s0", "--json"]);
    const [tree] = lines() as [Record<string, unknown>];
    expect(Object.keys(tree)).toEqual(["rollout", "calls", "nodes", "samples"]);
    expect(tree.rollout).toBe("g0-s0");
    const keys = ["id", "attempt", "parent", "prefix", "prompt_len", "node", "lineage", "break", "delivered", "policy"];
    for (const one of tree.calls as object[]) expect(Object.keys(one)).toEqual(keys);
    const prefix = calls[1]?.prefixLength;
    expect(tree.calls).toMatchObject([
      { id: "c1", parent: null, prefix: 0, prompt_len: prompt.length, lineage: 0, break: null, delivered: true },
      { id: "c2", parent: "c1", prefix, lineage: 0, delivered: false },
      { id: "c3", parent: null, lineage: 1, break: "side" },
    ]);
    expect((tree.samples as object[]).map((s) => Object.keys(s))).toEqual(
      Array(2).fill(["call", "node", "offset", "logprobs", "versions"]),
    );
  });

  it("shows messages where no tokenizer can read the tokens", async () => {
    const { out, err } = await runLeyden(["inspect", run, "g0-s0"]);
    expect(err).toContain("messages are shown instead of tokens");
    expect(out).toContain("  > user: Sure?\n  < hi\n");
    expect(out).not.toContain("<|im_start|>");
  });

  it("shows what was new in each prompt and what was drawn, read by the checkpoint's tokenizer", async () => {
    addCheckpoint();
    const { code, out, err } = await runLeyden(["inspect", run, "g0-s0"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const drawn = calls[0]?.tokens.replyIds.length as number;
    const fresh = (calls[1]?.tokens.promptIds.length as number) - prompt.length - drawn;
    expect(out.split("\n")).toEqual([
      "g0-s0: succeeded, train, reward 0.25, 3 calls, 1 attempt",
      'input: {"data_id":"task-g0-s0"}',
      "",
      `[1] c1  attempt 0, lineage 0, first of its attempt: ${prompt.length} tokens`,
      `    reply of ${drawn} tokens, stop, by policy, version 3, delivered`,
      "  > <|im_start|>user",
      "  > 2+2?<|im_end|>",
      "  > <|im_start|>assistant",
      "  >",
      "  < 4<|im_end|>",
      "",
      `[2] c2  attempt 0, lineage 0, continues [1]: ${prompt.length + drawn} tokens kept, ${fresh} new`,
      `    reply of ${drawn} tokens, length, by policy, version 3, pending`,
      "  >",
      "  > <|im_start|>user",
      "  > Sure?<|im_end|>",
      "  > <|im_start|>assistant",
      "  >",
      "  < 4<|im_end|>",
      "",
      "[3] c3  attempt 0, lineage 1, begins anew (side): 1 token",
      "    reply of 0 tokens, stop, by judge\\u001b[2J, pending",
      "  > user: hello",
      "  < hi",
      "",
      'event claimed_reward (attempt 0): {"value":9}',
      'event reward (attempt 0): {"value":0.25,"reason":"\\u001b]0;owned\\u0007"}',
      "",
    ]);
  });

  it("shows failed calls and errors", async () => {
    const { out } = await runLeyden(["inspect", run, "g0-s1"]);
    expect(out).toContain("error: agent\nexit 3\n");
    expect(out).toContain("failed call (attempt 0): upstream_failed, no answer\n");
  });

  it("keeps an id on its line, and tells a conversation sent again from one without a reason", async () => {
    const path = join(root, "odd.sqlite");
    const odd = await openStore(platform, path);
    const id = "a\n\tb";
    await odd.append([
      { type: "rollout_created", rollout: rollout(id) },
      { type: "call_recorded", call: call("d1", id, [1], [2]) },
      { type: "call_recorded", call: call("d2", id, [1], [3]) },
      { type: "call_recorded", call: call("d3", id, [4], [5], { own: false }) },
    ]);
    await odd.close();
    const shown = "a\\u000a\\u0009b";
    expect((await runLeyden(["inspect", path])).out).toMatch(new RegExp(`^${RegExp.escape(shown)} +train`, "m"));
    const { out } = await runLeyden(["inspect", path, id]);
    expect(out.split("\n").filter((line) => /^\[|, train,/.test(line))).toEqual([
      `${shown}: queuing, train, no reward, 3 calls, 1 attempt`,
      "[1] d1  attempt 0, lineage 0, first of its attempt: 1 token",
      "[2] d2  attempt 0, lineage 1, begins anew (the same messages once more): 1 token",
      "[3] d3  attempt 0, lineage 2, begins anew (no reason recorded): 1 token",
    ]);
  });

  it("names the nearest rollout for one that is not there", async () => {
    const { code, json: lines } = await runLeyden(["inspect", run, "g0-s2", "--json"]);
    expect(code).toBe(4);
    const message = 'There is no rollout "g0-s2" among 3.';
    expect(lines()).toEqual([{ error: { code: "rollout_not_found", message, do: 'Did you mean "g0-s0"?' } }]);
  });
});

describe("leyden inspect of something else", () => {
  it("says what is missing", async () => {
    writeFileSync(join(root, "junk.sqlite"), "");
    for (const [path, code] of [
      [join(root, "nowhere"), "file_missing"],
      [root, "store_missing"],
      [join(root, "junk.sqlite"), "store_version"],
    ] as const) {
      const { err } = await runLeyden(["inspect", path]);
      expect(err).toContain(`error [${code}]: `);
      expect(err).toContain(path);
    }
    expect((await runLeyden(["inspect"])).err).toBe(
      "error [usage]: leyden inspect needs RUN [ROLLOUT].\nUse: leyden inspect RUN [ROLLOUT]\n",
    );
  });
});
