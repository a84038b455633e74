// Plan: leyden serve --policy null as a program: replies, what is recorded, continuations; scripts that are none;
// options that do not go together.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import type { CallRecord } from "../../src/schema/store.ts";
import { runLeyden } from "../cli/run_leyden.ts";
import { Client, read, startServed } from "./served_process.ts";

const model = fileURLToPath(new URL("../../examples/calc/model", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "leyden-policies-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Message = { role: string; content: string };
type Tree = {
  calls: { prefix: number; prompt_len: number; parent: string | null }[];
  samples: { logprobs: number[] }[];
};

describe("leyden serve --policy null", () => {
  it("answers without a device, and keeps continuations verbatim", async () => {
    const served = await startServed(["--model", model, "--policy=null", "--reply-tokens=12"]);
    const client = new Client(served);
    await client.create("r");
    const messages: Message[] = [{ role: "user", content: "hi" }];
    for (let turn = 0; turn < 3; turn++) {
      const { status, body } = await read(client.post("/r/r/0/train/v1/chat/completions", { messages }));
      expect(status).toBe(200);
      const { choices, usage } = body as { choices: { message: Message; finish_reason: string }[]; usage: unknown };
      expect(usage).toMatchObject({ completion_tokens: 12 });
      expect(choices[0]?.finish_reason).toBe("stop");
      messages.push(choices[0]?.message as Message, { role: "user", content: "more" });
    }
    const { calls } = (await read(client.get("/api/rollouts/r/calls"))).body as { calls: { break: string | null }[] };
    expect(calls.map((call) => call.break)).toEqual([null, null, null]);
    const tree = (await read(client.get("/api/rollouts/r/tree"))).body as Tree;
    const [first, second] = tree.calls;
    expect(second?.prefix).toBe((first?.prompt_len ?? 0) + 12);
    const logprob = Math.fround(-Math.log(656));
    expect(tree.samples.map(({ logprobs }) => logprobs)).toEqual(new Array(3).fill(new Array(12).fill(logprob)));
    const shown = await client.events("r", "?event_type=model_request");
    expect(shown.map(({ data }) => (data.server as CallRecord["server"]).endpoint)).toEqual(["null", "null", "null"]);
    expect(await served.stop()).toBe(0);
  });
});

describe("a long prompt", () => {
  it("is encoded beside the gateway, which answers others meanwhile", async () => {
    const served = await startServed(["--model", model, "--policy=null"]);
    const client = new Client(served);
    let isEncoded = false;
    const content = "a word and another one, ".repeat(15_000);
    const long = read(client.post("/v1/messages/count_tokens", { messages: [{ role: "user", content }] }));
    void long.then(() => {
      isEncoded = true;
    });
    let answered = 0;
    while (!isEncoded) {
      await read(client.get("/healthz"));
      answered++;
    }
    expect((await long).body).toMatchObject({ input_tokens: expect.any(Number) });
    // One or two while the body is on its way; hundreds while it is encoded.
    expect(answered).toBeGreaterThan(20);
    expect(await served.stop()).toBe(0);
  });
});

describe("leyden serve --alias", () => {
  it("is another name of a model, and names each once", async () => {
    const served = await startServed(["--model", model, "--policy=null", "--alias=small=policy", "--alias=big=other"]);
    const client = new Client(served);
    const { body } = await read(client.get("/v1/models"));
    expect((body as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(["policy", "small", "big"]);
    expect(await served.stop()).toBe(0);
    const { code, err } = await runLeyden(["serve", "--gateway-only", "--alias=x"]);
    expect([code, err]).toEqual([
      4,
      "error [usage]: --alias x does not name anything.\nWrite it as --alias NAME=VALUE.\n",
    ]);
    const twice = await runLeyden(["serve", "--gateway-only", "--also=a=1", "--also=a=2"]);
    expect([twice.code, twice.err]).toEqual([4, 'error [usage]: --also names "a" twice.\nGive each name once.\n']);
  });
});

describe("leyden serve --policy script", () => {
  const script = (text: string): string => {
    const path = join(folder, "script.jsonl");
    writeFileSync(path, text);
    return path;
  };
  const serve = async (...args: string[]) => {
    const { code, err } = await runLeyden(["serve", ...args]);
    return [code, err];
  };

  it.each([
    ["{", "this is no JSON"],
    ['{"txt":"a"}', 'the line: Unrecognized key: "txt"'],
    ['{"text":"a","calls":[{"arguments":"{}"}]}', "calls.0.name: Invalid input: expected string, received undefined"],
    ['{"text":"a","error":500}', "an error is answered without text, reasoning or calls"],
    ['{"error":200}', "error: Too small: expected number to be >=400"],
  ])("refuses %s", async (line, reason) => {
    const path = script(`{"text":"fine"}\n\n${line}\n`);
    const [code, err] = await serve("--model", model, "--policy=script", "--script", path);
    expect(code).toBe(4);
    expect(err).toBe(
      `error [script]: ${path}, line 3: ${reason}.\n` +
        'Write one JSON object per line: {"text","reasoning","calls":[{"id","name","arguments"}],"error","delayMs","when"}.\n',
    );
  });

  it("refuses a script that leaves calls without a reply", async () => {
    const reasons = [
      ['{"text":"a","when":"b"}', 'has replies with "when" only: calls that none fits get nothing'],
      ["\n \n", "has no replies"],
    ] as const;
    for (const [text, reason] of reasons) {
      const path = script(text);
      expect(await serve("--model", model, "--policy=script", "--script", path)).toEqual([
        4,
        `error [script]: ${path} ${reason}.\n` +
          'Add a line without "when", such as {"text":"done"}; the last one is repeated.\n',
      ]);
    }
  });

  it("refuses options that do not go together", async () => {
    const together = "error [usage]: --policy script and --script FILE belong together.\nPass both, or neither.\n";
    expect(await serve("--model", model, "--policy=script")).toEqual([4, together]);
    expect(await serve("--model", model, "--script=x")).toEqual([4, together]);
    expect(await serve("--gateway-only", "--policy=null")).toEqual([
      4,
      "error [usage]: --policy null needs a model folder, for its tokenizer.\nPass --model DIR.\n",
    ]);
  });
});
