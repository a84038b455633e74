// Replies under a grammar on every runtime: the library loads, holds a reply to its form, and is had anew after a fault.
import { platform } from "#platform";
import { afterAll, describe, expect, it } from "#test";
import type { WorkerHandle } from "../../src/schema/platform.ts";
import type { ConstraintSpec } from "../../src/schema/token_constraint.ts";
import { ChatFormat } from "../../src/text/chat_format.ts";
import { GrammarClient } from "../../src/text/grammar/grammar_client.ts";
import { tinyTokenizerFiles } from "../text/tiny_tokenizer.ts";

const files = tinyTokenizerFiles();
const format = ChatFormat.load(files);
const vocabSize = 400;
const workers: WorkerHandle[] = [];
const spawn = (): WorkerHandle => {
  const worker = platform.spawnWorker(new URL("./grammar_worker.ts", import.meta.url));
  workers.push(worker);
  return worker;
};
const { clock } = platform;
const constraints = new GrammarClient({ spawn, files: async () => files, vocabSize, clock });
afterAll(async () => {
  for (const worker of workers) await worker.terminate();
});
const [stop = -1] = format.stopIds;

/** The reply that takes the allowed id nearest to a place that moves on, and ends texts and lists where it may. */
async function draw(spec: ConstraintSpec): Promise<string> {
  const constraint = await constraints.compile(spec);
  const enders = ['"', "}", "]"].map((text) => format.tokenizer.encode(text)[0] as number);
  const bits = new Uint32Array(Math.ceil(vocabSize / 32));
  const ids: number[] = [];
  for (let place = 7; ids.length < 500; place = (place * 31 + 11) % vocabSize) {
    await constraint.mask(bits);
    const allowed = (id: number) => ((bits[id >> 5] as number) >>> (id & 31)) & 1;
    let id = [stop, ...enders].find(allowed) ?? place;
    for (let tried = 0; !allowed(id) && tried < vocabSize; tried++) id = (id + 1) % vocabSize;
    await constraint.accept(id);
    if (id === stop) break;
    ids.push(id);
  }
  constraint.dispose();
  return format.tokenizer.decode(ids, { continuation: true });
}

const schema = {
  type: "object",
  properties: { city: { type: "string" }, unit: { enum: ["c", "f"] }, 'a"\n\\': { type: "boolean" } },
  required: ["city", "unit", 'a"\n\\'],
  additionalProperties: false,
};

describe("a grammar", () => {
  it("holds a reply to a JSON schema", async () => {
    const reply = JSON.parse(await draw({ kind: "json_schema", schema })) as Record<string, unknown>;
    expect(Object.keys(reply)).toEqual(["city", "unit", 'a"\n\\']);
    expect(typeof reply.city).toBe("string");
    expect(["c", "f"].includes(String(reply.unit))).toBe(true);
  });

  it("holds it to calls of the tools", async () => {
    const tools = [{ name: "weather", parameters: schema }];
    const text = await draw({ kind: "tool_calls", tools, required: true, parallel: false });
    const ids = [...format.tokenizer.encode(text), stop];
    const { toolCalls } = format.parseReply(ids);
    expect(toolCalls.map(({ name }) => name)).toEqual(["weather"]);
    expect(Object.keys(JSON.parse(toolCalls[0]?.arguments ?? "{}") as object)).toEqual(Object.keys(schema.properties));
  });

  it("that ends the library is refused, while a reply goes on and the next one compiles", async () => {
    const going = await constraints.compile({ kind: "json_schema", schema: { const: "ab" } });
    const bits = new Uint32Array(Math.ceil(vocabSize / 32));
    const only = async () => {
      await going.mask(bits);
      const ids = Array.from({ length: vocabSize }, (_, id) => id);
      return format.tokenizer.decode(ids.filter((id) => ((bits[id >> 5] as number) >>> (id & 31)) & 1));
    };
    expect(await only()).toBe('"');
    await going.accept(format.tokenizer.encode('"')[0] as number);
    const refused = await constraints.compile({ kind: "grammar", grammar: "root ::= nope" }).then(
      () => "compiled",
      (thrown: { code?: string }) => thrown.code,
    );
    expect(refused).toBe("config");
    expect(await only()).toBe("a");
    going.dispose();
    const next = await draw({ kind: "json_schema", schema: { enum: ["again"] } });
    expect(next).toBe('"again"');
  });
});
