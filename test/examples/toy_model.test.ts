/** What the vault and the team share: word tokenizers, their template, splits, and rows for supervised training. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as teamSft from "../../examples/team/sft.ts";
import { jobs, dataset as teamTasks } from "../../examples/team/tasks.ts";
import { words as teamWords } from "../../examples/team/tokenizer.ts";
import { chatSegments, recall, replyEnd, type SftRow, sftRow } from "../../examples/toy/sft_rows.ts";
import { drawTask, splitOf } from "../../examples/toy/split_dataset.ts";
import { wordModelFiles } from "../../examples/toy/word_model.ts";
import * as vaultSft from "../../examples/vault/sft.ts";
import { vaults, dataset as vaultTasks } from "../../examples/vault/tasks.ts";
import { words as vaultWords } from "../../examples/vault/tokenizer.ts";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { ChatMessage, RecordedCall } from "../../src/schema/chat.ts";
import type { TokenizerFiles } from "../../src/schema/tokenizer_files.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { Tokenizer } from "../../src/text/tokenizer.ts";
import { exampleFolder } from "./run_example.ts";

const examples = [
  { name: "vault", words: vaultWords, sft: vaultSft, family: vaults, tasks: vaultTasks, vocab: 224 },
  { name: "team", words: teamWords, sft: teamSft, family: jobs, tasks: teamTasks, vocab: 128 },
];

function tokenizerFiles(words: readonly string[]): TokenizerFiles {
  const files = wordModelFiles(words);
  const parse = (name: string) => JSON.parse(files[name] as string);
  return {
    name: "toy",
    tokenizer: parse("tokenizer.json"),
    tokenizerConfig: parse("tokenizer_config.json"),
    specialTokensMap: null,
    generationConfig: null,
    modelConfig: parse("config.json"),
    chatTemplates: {},
  };
}

const sampled = ({ ids, mask }: SftRow): number[] => [...ids].filter((_, t) => mask[t] === 1);

describe.each(examples)("$name: model folder", ({ name, words, sft, vocab }) => {
  const tokenizer = Tokenizer.load(tokenizerFiles(words));
  const format = ChatFormat.load(tokenizerFiles(words));
  const encode = (text: string) => tokenizer.encode(text);

  it("is what the example's program writes", () => {
    for (const [file, text] of Object.entries(wordModelFiles(words))) {
      expect(readFileSync(`${exampleFolder(name)}model/${file}`, "utf8"), file).toBe(text);
    }
    expect(JSON.parse(wordModelFiles(words)["config.json"] as string)).toMatchObject({
      vocab_size: vocab,
      eos_token_id: tokenizer.idOf(replyEnd),
    });
  });

  it("reads and writes every text of a trace exactly, without an unknown word", () => {
    const unknown = tokenizer.idOf("[unk]");
    for (const stage of ["clean", "noisy"] as const) {
      const rows = sft[stage]({ encode, seed: 5 });
      for (let i = 0; i < 100; i++) {
        const { ids } = rows.example(i);
        const text = tokenizer.decode(ids);
        expect([...ids]).not.toContain(unknown);
        expect(encode(text)).toEqual([...ids]);
      }
    }
  });

  it("lets each prompt of a chat begin with the one before and its reply, token for token as the traces have it", () => {
    const recorded: RecordedCall[] = [];
    const messages: ChatMessage[] = [];
    const turns = [
      { message: words[3] as string, reply: words[4] as string },
      { message: `${words[3]}\n${words[5]}`, reply: words[6] as string },
    ];
    const row = sftRow(chatSegments(turns), encode);
    for (const { message, reply } of turns) {
      messages.push({ role: "user", content: message });
      const request = { messages: [...messages] };
      const { ids, break: reason } = format.encodeRequest(request, recorded);
      expect(reason).toBeNull();
      expect(row.ids.slice(0, ids.length)).toEqual(ids);
      const said: ChatMessage = { role: "assistant", content: reply };
      messages.push(said);
      recorded.push({
        id: `${recorded.length}`,
        request,
        reply: said,
        promptIds: ids,
        replyIds: encode(reply + replyEnd),
      });
    }
    expect(format.stopIds).toEqual([encode(replyEnd)[0]]);
  });

  it("learns the replies and nothing else, each with its end", () => {
    const { example } = sft.clean({ encode, seed: 1 });
    for (let i = 0; i < 50; i++) {
      const row = example(i);
      expect(row.mask).toHaveLength(row.ids.length);
      const text = tokenizer.decode(row.ids);
      const replies = [...text.matchAll(/<\|im_start\|>assistant\n(.*?<\|im_end\|>)/g)].map(([, reply]) => reply);
      expect(tokenizer.decode(sampled(row))).toBe(replies.join(""));
    }
  });
});

describe.each(examples)("$name: splits", ({ family, tasks }) => {
  it("never meet, whatever the seed", () => {
    const held = new Set(tasks.heldOut.map(({ id }) => id));
    expect(held.size).toBe(200);
    for (const row of tasks.heldOut) expect(splitOf(row.input)).toBe("heldOut");
    for (const seed of [1, 2, 10_000]) {
      const stream = tasks.train(seed);
      for (let i = 0; i < 300; i++) {
        const row = stream.at(i);
        expect(splitOf(row.input)).toBe("train");
        expect(held.has(row.id)).toBe(false);
      }
    }
  });

  it("hold out an eighth of all tasks", () => {
    const rng = new Rng(seedKey(3));
    const drawn = Array.from({ length: 4000 }, () => splitOf(family.draw(rng).input));
    // Standard deviation .0052.
    expect(Math.abs(drawn.filter((split) => split === "heldOut").length / 4000 - 1 / 8)).toBeLessThan(0.02);
  });

  it("give one stream per seed, every task once", () => {
    const [a, b, c] = [tasks.train(1), tasks.train(1), tasks.train(2)];
    expect(a.at(40)).toEqual(b.at(40));
    expect(a.at(40)).not.toEqual(c.at(40));
    expect(a.length).toBe(Number.POSITIVE_INFINITY);
    expect(new Set(Array.from({ length: 200 }, (_, i) => a.at(i).id)).size).toBe(200);
  });

  it("have every kind equally often among the held-out tasks", () => {
    const counts = new Map<unknown, number>();
    for (const { hidden } of tasks.heldOut) {
      const kind = hidden.hops ?? hidden.unknown;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    expect([...counts.values()]).toEqual(Array.from({ length: family.kinds }, () => 200 / family.kinds));
  });

  it("tell the task's id from its input alone", () => {
    const rng = () => new Rng(seedKey(8));
    const task = drawTask(family, rng(), "train");
    expect(drawTask({ ...family, draw: (r, k) => ({ ...family.draw(r, k), hidden: {} }) }, rng(), "train").id).toBe(
      task.id,
    );
  });
});

describe("recall rows", () => {
  it("ask for pairs that they hold, loss on the values", () => {
    const words = { keys: ["a", "b", "c"], values: ["1", "2", "3", "4", "5"] };
    const rows = recall(words, { encode: (text) => [...text].map((char) => char.charCodeAt(0)), seed: 1 });
    const pairCounts = new Set<number>();
    for (let i = 0; i < 200; i++) {
      const { ids, mask } = rows.example(i);
      const text = String.fromCharCode(...ids);
      const pairs = new Map([...text.slice(0, -16).matchAll(/(.)(.)/g)].map(([, key, value]) => [key, value]));
      pairCounts.add(pairs.size);
      for (const [, key, value] of text.slice(-16).matchAll(/(.)(.)/g)) expect(pairs.get(key)).toBe(value);
      expect(text.slice(0, -16)).toHaveLength(2 * pairs.size);
      expect([...mask.subarray(-16)].join("")).toBe("01".repeat(8));
      expect(mask.subarray(0, -16).includes(1)).toBe(false);
    }
    expect([...pairCounts].sort()).toEqual([2, 3]);
  });
});
